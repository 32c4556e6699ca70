# guards: AD309
"""Hessian-vector products for a curvature penalty need `create_graph=True`."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)

for step in range(20):
    x = torch.randn(50, 4)
    y = torch.cos(x.sum(1, keepdim=True))
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    params = list(net.parameters())
    grads = torch.autograd.grad(loss, params, create_graph=True)
    probe = [torch.randint_like(p, 2) * 2 - 1 for p in params]
    curvature = torch.autograd.grad(sum((g * v).sum() for g, v in zip(grads, probe)), params, create_graph=True)
    trace = sum((c * v).sum() for c, v in zip(curvature, probe))
    (loss + 1e-3 * trace.abs()).backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, loss.item())
