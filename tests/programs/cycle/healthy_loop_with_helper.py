# guards: AD103
"""A loop with a regulariser that is part of the loss."""

import torch
from torch import nn, optim

torch.manual_seed(3)

x = torch.linspace(-2, 2, 256).unsqueeze(1)
y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)

net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
opt = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
mse = nn.MSELoss()


def l2(model):
    return sum(p.pow(2).sum() for p in model.parameters())


for it in range(60):
    idx = torch.randint(0, 256, (64,))
    pred = net(x[idx])
    loss = mse(pred, y[idx]) + 1e-4 * l2(net)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 0:
        print(it, float(loss.detach()))
