# guards: AD636
"""The same with time last, where the past is on the right: sequences are turned round before they are read to the end."""

import torch
from torch import nn

torch.manual_seed(1)
embed = nn.Embedding(24, 12, padding_idx=0)
conv = nn.Conv1d(12, 16, 5)
head = nn.Linear(16, 4)
model = nn.ModuleList([embed, conv, head])
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for _ in range(20):
    rows = [torch.randint(1, 24, (int(length),)) for length in torch.randint(3, 12, (20,))]
    tokens = nn.utils.rnn.pad_sequence(rows, batch_first=True)
    features = embed(tokens).permute(0, 2, 1).flip(-1)
    states = conv(nn.functional.pad(features, (4, 0))).tanh()
    loss = nn.functional.cross_entropy(head(states[..., -1]), tokens[:, 0] % 4)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
