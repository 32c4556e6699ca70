# guards: AD605
import torch
from torch import nn

torch.manual_seed(0)
query, key, value, assign, head = (nn.Linear(8, size) for size in (16, 16, 16, 3, 3))
layers, mix = nn.ModuleList([query, key, value, assign, head]), nn.Linear(48, 8)
optimizer = torch.optim.Adam([*layers.parameters(), *mix.parameters()], lr=0.01)
for _ in range(10):
    x = torch.randn(12, 5, 8)
    q, k, v = (layer(x).view(12, 5, 4, 4).transpose(1, 2) for layer in (query, key, value))
    attended = (torch.softmax(q @ k.transpose(-2, -1) / 2, dim=-1) @ v).transpose(1, 2).flatten(2)
    clusters = torch.softmax(assign(x), dim=2)
    pooled = clusters.transpose(1, 2) @ attended
    slots = torch.einsum("bnc,bnd->bcd", torch.softmax(assign(x), dim=1), attended)
    scores = head(mix((pooled + slots).flatten(1)))
    loss = nn.functional.cross_entropy(scores, x.mean((1, 2)).gt(0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
