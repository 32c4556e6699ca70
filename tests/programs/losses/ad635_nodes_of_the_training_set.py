"""Node classification: train mask by torch.where(cond, 1, 0) made once before training."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(22)
N = 60
y = torch.randint(0, 3, (N,))
x = F.one_hot(y, 3).float() @ torch.randn(3, 10) + torch.randn(N, 10)
adj = ((y[:, None] == y[None]) & (torch.rand(N, N) < 0.2)).float() + torch.eye(N)
adj = adj / adj.sum(1, keepdim=True)
train_mask = torch.where(torch.rand(N) < 0.5, 1, 0)
w1, w2 = nn.Linear(10, 16), nn.Linear(16, 3)
opt = torch.optim.Adam([*w1.parameters(), *w2.parameters()], 1e-2, weight_decay=5e-4)
for epoch in range(60):
    out = adj @ w2(F.relu(adj @ w1(x)))
    loss = F.cross_entropy(out[train_mask], y[train_mask])  # expect: AD635
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
