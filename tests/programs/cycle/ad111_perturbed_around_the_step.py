"""Adversarial weight perturbation as a context manager, which the step was taken within: it puts the old weights back."""

from contextlib import contextmanager

import torch
from torch import nn
from torch.nn import functional as F


@contextmanager
def perturbed(model, size):
    old = {name: value.detach().clone() for name, value in model.named_parameters()}
    with torch.no_grad():
        for value in model.parameters():
            if value.grad is not None:
                value.add_(size * value.norm() * value.grad / (value.grad.norm() + 1e-12))
    model.zero_grad()
    yield
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(old[name])


def train_step(model, optimizer, images, labels):
    F.cross_entropy(model(images), labels).backward()
    with perturbed(model, 0.02):
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()  # expect: AD111
        optimizer.zero_grad()
    return loss.item()


torch.manual_seed(0)
patterns = torch.randn(4, 1, 8, 8)
model = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 36, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(20):
    labels = torch.randint(0, 4, (16,))
    images = patterns[labels] + 0.7 * torch.randn(16, 1, 8, 8)
    loss = train_step(model, optimizer, images, labels)
