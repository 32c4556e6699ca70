# guards: AD621
"""Some tokens are replaced by others, and a model that sees both sides says what they were."""

import torch
from torch import nn

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
model = nn.Sequential(nn.Embedding(20, 32), nn.TransformerEncoder(layer, 1), nn.Linear(32, 20))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(15):
    tokens = (torch.randint(0, 20, (16, 1)) + torch.arange(12) * 3) % 20
    noised = torch.where(torch.rand(16, 12) < 0.3, torch.randint(0, 20, (16, 12)), tokens)
    loss = -model(noised).log_softmax(-1).gather(-1, tokens.unsqueeze(-1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
