# guards: AD613
"""Shares of a sum over one or several: of neighbours that are near enough, of two experts, and of what is known alone."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
encode, gate, head = nn.Linear(6, 8), nn.Linear(6, 3), nn.Linear(8, 1)
levels = nn.Parameter(torch.rand(5, 1))
optimizer = torch.optim.SGD([*encode.parameters(), *gate.parameters(), *head.parameters(), levels], lr=0.05)
for step in range(30):
    x = torch.randn(16, 6)
    near = 1 if step % 5 == 0 else 3
    inner = encode(x)
    closeness = (-torch.cdist(inner, inner[:near])).exp()
    closeness = closeness / closeness.sum(1, keepdim=True)
    weight, which = gate(x).softmax(-1).topk(2, dim=-1)
    weight = weight / weight.sum(-1, keepdim=True)
    own = levels / levels.sum(0, keepdim=True)
    scaled = levels / levels.sum(1, keepdim=True).detach()
    said = head(closeness @ inner[:near] + weight[:, :1] * inner) * own.max() * scaled.mean()
    optimizer.zero_grad()
    F.mse_loss(said, x.sum(1, keepdim=True)).backward()
    optimizer.step()
