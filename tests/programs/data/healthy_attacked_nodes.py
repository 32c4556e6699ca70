# guards: AD706
"""Nodes drawn at random, whatever they were used for, are attacked, and compared before and after."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
n = 200
kind = torch.randint(3, (n,))
x = F.one_hot(kind, 3).float() @ torch.randn(3, 10) + torch.randn(n, 10)
near = F.one_hot(torch.cdist(x, x).topk(5, largest=False).indices, n).sum(1).float() / 5
split = torch.rand(n)
train, test = split < 0.5, split >= 0.7
victims = torch.randperm(n)[:60]
model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(25):
    loss = F.cross_entropy(model(near @ x)[train], kind[train])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        with torch.no_grad():
            print(step, (model(near @ x).argmax(1) == kind)[test].float().mean().item())
model.eval()
moved = x.clone().requires_grad_()
F.cross_entropy(model(near @ moved)[victims], kind[victims]).backward()
with torch.no_grad():
    after = model(near @ (x + 0.5 * moved.grad.sign())).argmax(1)
    print((after[victims] == kind[victims]).float().mean().item())
