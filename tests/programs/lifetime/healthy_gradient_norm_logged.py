# guards: AD309 AD304
"""The norm of the gradient is logged before backward, with the graph retained."""

import torch
from torch import nn


def grad_norm(loss, params):
    grads = torch.autograd.grad(loss, params, retain_graph=True)
    return sum(g.detach().pow(2).sum() for g in grads) ** 0.5


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 40), nn.Tanh(), nn.Linear(40, 1))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for it in range(8):
    x = torch.randn(64, 8)
    loss = (net(x) - x.norm(dim=1, keepdim=True)).abs().mean()
    gn = grad_norm(loss, list(net.parameters()))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, f"{gn:.3f}")
