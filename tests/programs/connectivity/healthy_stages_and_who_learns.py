# guards: AD202 AD201
"""Stages that train some parameters and leave others alone, and optimizers that say so."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(4)
x = torch.randn(96, 12)
y = (x[:, 0] * x[:, 1] > 0).long()
body = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 8))
mirror, head, critic = nn.Linear(8, 12), nn.Linear(8, 2), nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

# first the body, with a mirror
opt = torch.optim.Adam([*body.parameters(), *mirror.parameters()], 2e-3)
for _ in range(10):
    opt.zero_grad()
    F.mse_loss(mirror(body(x)), x).backward()
    opt.step()

# then the head alone
opt = torch.optim.Adam(head.parameters(), 1e-2)
for _ in range(10):
    code = body(x).detach()
    opt.zero_grad()
    F.cross_entropy(head(code), y).backward()
    opt.step()

# then both, beside a critic that has an optimizer of its own and sees codes without a graph
both = torch.optim.Adam([*body.parameters(), *head.parameters()], 1e-3)
other = torch.optim.Adam(critic.parameters(), 1e-3)
for _ in range(10):
    code = body(x)
    both.zero_grad()
    F.cross_entropy(head(code), y).backward()
    both.step()
    other.zero_grad()
    target = (code.detach().norm(dim=1, keepdim=True)).log()
    F.mse_loss(critic(code.detach()), target).backward()
    other.step()
