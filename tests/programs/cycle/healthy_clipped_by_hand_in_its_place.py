# guards: AD106 AD105 AD125
"""Gradients that the program itself limits, where it should: unscaled, of a whole sum, or of one net of two."""
import torch
from torch import nn

torch.manual_seed(0)


def begin():
    net = nn.Sequential(nn.Linear(6, 16), nn.ELU(), nn.Linear(16, 1))
    return net, torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.5)


def limit(parameters, most):
    gradients = [p.grad for p in parameters]
    length = torch.stack([g.norm() for g in gradients]).norm()
    torch._foreach_mul_(gradients, (most / (length + 1e-6)).clamp(max=1.0))


def loss_of(net, scale=1.0):
    x = scale * torch.randn(16, 6)
    return nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))


# What the scaler has put in is taken out before.
net, sgd = begin()
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for _ in range(8):
    sgd.zero_grad()
    scaler.scale(loss_of(net, 3.0)).backward()
    scaler.unscale_(sgd)
    limit(net.parameters(), 0.5)
    scaler.step(sgd)
    scaler.update()

# The limit is scaled as the gradients are.
net, sgd = begin()
for _ in range(6):
    sgd.zero_grad()
    scaler.scale(loss_of(net, 3.0)).backward()
    limit(net.parameters(), 0.5 * scaler.get_scale())
    scaler.step(sgd)
    scaler.update()

# A net without a scale is limited beside one that has one.
(net, sgd), (other, plain) = begin(), begin()
for _ in range(6):
    sgd.zero_grad()
    plain.zero_grad()
    scaler.scale(loss_of(net)).backward()
    loss_of(other, 3.0).backward()
    limit(other.parameters(), 0.5)
    plain.step()
    scaler.step(sgd)
    scaler.update()

# Gathered from three batches, then averaged, then limited.
net, sgd = begin()
for number in range(24):
    loss_of(net, 3.0).backward()
    if number % 3 == 2:
        for p in net.parameters():
            p.grad.div_(3)
        limit(net.parameters(), 0.5)
        sgd.step()
        sgd.zero_grad()
