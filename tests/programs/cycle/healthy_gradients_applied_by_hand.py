# guards: AD116
"""The gradients come back from `torch.autograd.grad` and are subtracted in place, with momentum kept in a list."""

import torch
import torch.nn.functional as F

torch.manual_seed(11)
net = torch.nn.Sequential(torch.nn.Linear(6, 24), torch.nn.SiLU(), torch.nn.Linear(24, 3))
params = list(net.parameters())
velocity = [torch.zeros_like(p) for p in params]
rate, momentum = 0.05, 0.9

for it in range(40):
    x = torch.randn(48, 6)
    y = x[:, :3].argmax(1)
    loss = F.cross_entropy(net(x), y)
    grads = torch.autograd.grad(loss, params)
    with torch.no_grad():
        for p, v, g in zip(params, velocity, grads):
            v.mul_(momentum).add_(g)
            p.sub_(rate * v)
    if it % 10 == 0:
        print(it, round(loss.item(), 4))
