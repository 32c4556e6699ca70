import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--act", default="ReLU")
parser.add_argument("--width", type=int, default=32)
parser.add_argument("--iters", type=int, default=40)
parser.add_argument("--alpha", type=float, default=0.1)
args = parser.parse_args()
torch.manual_seed(1234)


class PINN(nn.Module):
    def __init__(self, sizes, act):
        super().__init__()
        mods = []
        for a, b in zip(sizes[:-2], sizes[1:-1]):
            mods.append(nn.Linear(a, b))
            mods.append(act())
        mods.append(nn.Linear(sizes[-2], sizes[-1]))
        self.net = nn.Sequential(*mods)
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)

    def forward(self, x, t):
        return self.net(torch.hstack((x, t)))


model = PINN([2, args.width, args.width, 1], getattr(nn, args.act))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
mse = nn.MSELoss()

x_ic = torch.linspace(0, 1, 50).unsqueeze(1)
u_ic = torch.sin(torch.pi * x_ic)
t_bc = torch.linspace(0, 1, 50).unsqueeze(1)
for it in range(args.iters):
    x_f = torch.rand(400, 1, requires_grad=True)
    t_f = torch.rand(400, 1, requires_grad=True)
    u = model(x_f, t_f)
    ones = torch.ones_like(u)
    u_t = torch.autograd.grad(u, t_f, ones, create_graph=True)[0]
    u_x = torch.autograd.grad(u, x_f, ones, create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x, x_f, ones, create_graph=True)[0]  # <- AD225
    f = u_t - args.alpha * u_xx
    loss_f = mse(f, torch.zeros_like(f))
    loss_ic = mse(model(x_ic, torch.zeros_like(x_ic)), u_ic)
    loss_bc = model(torch.zeros_like(t_bc), t_bc).pow(2).mean() + model(torch.ones_like(t_bc), t_bc).pow(2).mean()
    loss = loss_f + 10 * loss_ic + loss_bc
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        print(it, loss_f.item(), loss_ic.item(), loss_bc.item())
