import torch
from torch import nn

torch.manual_seed(0)
query, key, value, head = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 3)
layers, drop = nn.ModuleList([query, key, value, head]), nn.Dropout(0.1)
optimizer = torch.optim.Adam(layers.parameters(), lr=0.01)
for _ in range(10):
    x = torch.randn(12, 5, 8)
    scores = torch.einsum("bqd,bkd->bqk", query(x), key(x))
    weights = drop(torch.softmax(scores, 0))  # expect: AD605
    summary = torch.einsum("bqk,bkd->bqd", weights, value(x)).mean(1)
    loss = nn.functional.cross_entropy(head(summary), x.mean((1, 2)).gt(0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
