# guards: AD410
import torch
from torch import nn

torch.manual_seed(0)
embedding, head = nn.Embedding(500, 8), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
for _ in range(8):
    items = torch.randint(0, 500, (16,))
    optimizer.zero_grad()
    nn.functional.mse_loss(head(embedding(items)), (items % 7).float().unsqueeze(1) / 7).backward()
    optimizer.step()
