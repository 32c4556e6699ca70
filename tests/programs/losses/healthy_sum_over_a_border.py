# guards: AD628
"""PINN for u'' = -pi^2 sin(pi x) on [0, 1]: residual by mean over collocation points, the two boundary values by sum."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
edges = torch.tensor([[0.0], [1.0]])
for step in range(600):
    x = torch.rand(128, 1, requires_grad=True)
    u = net(x)
    (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (d2u,) = torch.autograd.grad(du.sum(), x, create_graph=True)
    residual = (d2u + torch.pi**2 * torch.sin(torch.pi * x)).pow(2).mean()
    boundary = net(edges).pow(2).sum()
    loss = residual + boundary
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 150 == 0 or step == 599:
        with torch.no_grad():
            g = torch.linspace(0, 1, 50)[:, None]
            err = (net(g) - torch.sin(torch.pi * g)).abs().max().item()
        print(step, round(loss.item(), 4), "max error", round(err, 3))
