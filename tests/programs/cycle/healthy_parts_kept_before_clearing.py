# guards: AD102
"""Gradients of one loss are taken one after another and cleared by hand: their parts come together before the step."""
import torch
from torch import nn

torch.manual_seed(0)
BINS = 4


def begin():
    net = nn.Sequential(nn.Linear(5, 20), nn.SiLU(), nn.Linear(20, 1))
    return net, list(net.parameters())


def sweep(net, x):
    loss = nn.functional.huber_loss(net(x), x.prod(1, keepdim=True))
    (loss / BINS).backward()


# What the earlier ones gave is added to what the last one left.
net, weights = begin()
optimizer = torch.optim.SGD(weights, lr=0.1, momentum=0.9)
for step in range(8):
    kept = [torch.zeros_like(w) for w in weights]
    for part in torch.randn(BINS, 16, 5):
        for w, sum_ in zip(weights, kept):
            if w.grad is not None:
                sum_ += w.grad
                w.grad = None
        sweep(net, part)
    for w, sum_ in zip(weights, kept):
        w.grad += sum_
    optimizer.step()
    optimizer.zero_grad()

# The largest of some gradients, in each number, is what is stepped on.
net, weights = begin()
optimizer = torch.optim.Adam(weights, lr=0.01)
for step in range(8):
    found = []
    for part in torch.randn(BINS, 16, 5):
        sweep(net, part)
        found.append([w.grad for w in weights])
        for w in weights:
            w.grad = None
    for w, each in zip(weights, zip(*found)):
        stacked = torch.stack(each)
        w.grad = stacked.gather(0, stacked.abs().argmax(0, keepdim=True))[0]
    optimizer.step()
    optimizer.zero_grad()

# How much gradients of small batches differ from those of large ones is measured by the same line that trains.
net, weights = begin()
optimizer = torch.optim.SGD(weights, lr=0.1)
for step in range(8):
    sweep(net, torch.randn(8, 5))
    small = sum(w.grad.square().sum().item() for w in weights)
    for w in weights:
        w.grad = None
    sweep(net, torch.randn(64, 5))
    large = sum(w.grad.square().sum().item() for w in weights)
    noise = (small - large) / (1 / 8 - 1 / 64)
    optimizer.step()
    optimizer.zero_grad()
