# guards: AD216 AD102
"""Elastic weight consolidation: Fisher and old weights are constants, the penalty itself follows the live weights."""
import torch
import torch.nn.functional as F
from torch import nn


class EWC:
    def __init__(self, model, x, y, lam=20.0):
        self.lam = lam
        self.old = {n: p.detach().clone() for n, p in model.named_parameters()}
        self.fisher = {n: torch.zeros_like(p) for n, p in model.named_parameters()}
        for xi, yi in zip(x.split(16), y.split(16)):
            model.zero_grad()
            F.nll_loss(F.log_softmax(model(xi), 1), yi).backward()
            for n, p in model.named_parameters():
                self.fisher[n] += p.grad.detach() ** 2 / (len(x) / 16)
        model.zero_grad()

    def penalty(self, model):
        return self.lam * sum((self.fisher[n] * (p - self.old[n]) ** 2).sum() for n, p in model.named_parameters())


def task(seed, n=256):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 8, generator=g)
    return x, (x @ torch.randn(8, 3, generator=g)).argmax(1)


def train(model, x, y, steps, ewc=None):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        if ewc is not None:
            loss = loss + ewc.penalty(model)
        loss.backward()
        optimizer.step()
    return loss.item()


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
xa, ya = task(1)
xb, yb = task(2)
print("A", train(model, xa, ya, 20), accuracy(model, xa, ya))
ewc = EWC(model, xa, ya)
print("B", train(model, xb, yb, 20, ewc), accuracy(model, xa, ya), accuracy(model, xb, yb))
