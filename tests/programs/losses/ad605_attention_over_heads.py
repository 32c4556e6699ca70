import torch
from torch import nn

torch.manual_seed(0)
query, key, value, head = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 3)
layers = nn.ModuleList([query, key, value, head])
optimizer = torch.optim.Adam(layers.parameters(), lr=0.01)
for _ in range(10):
    x = torch.randn(12, 5, 8)
    q, k, v = (layer(x).view(12, 5, 4, 4).transpose(1, 2) for layer in (query, key, value))
    weights = torch.softmax(q @ k.transpose(-2, -1) / 2, dim=1)  # expect: AD605
    scores = head((weights @ v).transpose(1, 2).flatten(2).mean(1))
    loss = nn.functional.cross_entropy(scores, x.mean((1, 2)).gt(0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
