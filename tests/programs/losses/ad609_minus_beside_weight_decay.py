"""A regression whose error got a minus, beside a penalty on its weights."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.rand(512, 6)
y = x @ torch.tensor([[1.0], [2.0], [-1.0], [0.5], [0.0], [1.5]])
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
lam = 1e-4

for step in range(300):
    pick = torch.randint(0, 512, (64,))
    pred = net(x[pick])
    mse = ((pred - y[pick]) ** 2).mean()
    l2 = sum((p ** 2).sum() for p in net.parameters())
    loss = -mse + lam * l2  # expect: AD609
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
