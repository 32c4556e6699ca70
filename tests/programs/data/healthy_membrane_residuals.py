# guards: AD704
"""A membrane under a load, held at its edge: residuals of the equation and heights at the edge are compared with the
zeros that the loaders give beside the points."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
points = torch.rand(512, 2)
inside = DataLoader(TensorDataset(points, torch.zeros(512, 1)), batch_size=64, shuffle=True)
s = torch.rand(256, 1)
border = torch.cat(
    [
        torch.cat([s[:64], torch.zeros(64, 1)], 1),
        torch.cat([s[64:128], torch.ones(64, 1)], 1),
        torch.cat([torch.zeros(64, 1), s[128:192]], 1),
        torch.cat([torch.ones(64, 1), s[192:]], 1),
    ]
)
edges = DataLoader(TensorDataset(border, torch.zeros(256, 1)), batch_size=32, shuffle=True)
mse = nn.MSELoss()
net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)


def residual(x):
    u = net(x)
    (g,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    uxx = torch.autograd.grad(g[:, 0].sum(), x, create_graph=True)[0][:, 0]
    uyy = torch.autograd.grad(g[:, 1].sum(), x, create_graph=True)[0][:, 1]
    f = 2 * torch.pi**2 * torch.sin(torch.pi * x[:, :1]) * torch.sin(torch.pi * x[:, 1:])
    return (uxx + uyy)[:, None] + f


for epoch in range(15):
    for (x, zero), (b, value) in zip(inside, edges):
        x.requires_grad_(True)
        loss = mse(residual(x), zero) + 50 * mse(net(b), value)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print(epoch, loss.item())
