# guards: AD111
"""Weights that are put aside and back around steps that count: at a perturbed point, at one nearby, at their signs,
beside an anchor whose gradient is subtracted, and for a task that is adapted to and left again."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
patterns = torch.randn(4, 12)


def batch():
    labels = torch.randint(0, 4, (24,))
    return patterns[labels] + torch.randn(24, 12), labels


def build():
    return nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 4))


@torch.no_grad()
def write(model, values):
    for weight, value in zip(model.parameters(), values, strict=True):
        weight.copy_(value)


def copies(model):
    return [weight.detach().clone() for weight in model.parameters()]


def sharpness_aware(steps=6):
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        inputs, labels = batch()
        F.cross_entropy(model(inputs), labels).backward()
        old = copies(model)
        norm = torch.stack([weight.grad.norm() for weight in model.parameters()]).norm()
        write(model, [weight + 0.05 * weight.grad / norm for weight in model.parameters()])
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), labels).backward()
        write(model, old)
        optimizer.step()
        optimizer.zero_grad()


def binary_weights(steps=6):
    """The signs hardly ever change, so that forwards meet the same weights again and again, while the real ones move."""
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    for _ in range(steps):
        inputs, labels = batch()
        real = copies(model)
        write(model, [0.3 * weight.sign() for weight in real])
        F.cross_entropy(model(inputs), labels).backward()
        write(model, real)
        optimizer.step()
        optimizer.zero_grad()


def variance_reduced(steps=6):
    """Each step asks the gradient at an anchor first, which stays where it is for a whole epoch."""
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    anchor = copies(model)
    for _ in range(steps):
        inputs, labels = batch()
        now = copies(model)
        write(model, anchor)
        F.cross_entropy(model(inputs), labels).backward()
        correction = [weight.grad.clone() for weight in model.parameters()]
        write(model, now)
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), labels).backward()
        for weight, each in zip(model.parameters(), correction, strict=True):
            weight.grad.sub_(each, alpha=0.5)
        optimizer.step()
        optimizer.zero_grad()


def adapted_and_left(tasks=6):
    """One step for each task, judged after it; the weights that all share move by their own rule."""
    model = build()
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(tasks):
        shared = copies(model)
        inputs, labels = batch()
        F.cross_entropy(model(inputs), labels).backward()
        inner.step()
        inner.zero_grad()
        inputs, labels = batch()
        F.cross_entropy(model(inputs), labels).backward()
        write(model, [old - 0.02 * weight.grad for old, weight in zip(shared, model.parameters(), strict=True)])
        inner.zero_grad()


def smoothed(steps=6):
    """The optimizer steps from a point nearby, and what it added is carried over to the weights that were put aside."""
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        inputs, labels = batch()
        old = copies(model)
        write(model, [weight + 0.05 * torch.randn_like(weight) for weight in old])
        nearby = copies(model)
        F.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        write(model, [weight + now - near for weight, now, near in zip(old, model.parameters(), nearby, strict=True)])


sharpness_aware()
smoothed()
binary_weights()
variance_reduced()
adapted_and_left()
