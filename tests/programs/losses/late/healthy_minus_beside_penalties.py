# guards: AD609 AD620
"""Terms with a minus beside penalties on weights, each of which something holds back."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


def weight_decay(model: nn.Module) -> torch.Tensor:
    return 1e-3 * torch.stack([weight.square().sum() for weight in model.parameters()]).sum()


def domain_adversary() -> None:
    """The features are to hide where they come from, and the critic learns against them."""
    features, critic = nn.Linear(8, 16), nn.Linear(16, 1)
    learners = torch.optim.Adam(features.parameters(), lr=1e-2)
    judges = torch.optim.Adam(critic.parameters(), lr=1e-2)
    for _ in range(24):
        source, target = torch.randn(32, 8), torch.randn(32, 8) + 1
        origin = torch.cat([torch.zeros(32, 1), torch.ones(32, 1)])
        seen = features(torch.cat([source, target])).relu()
        told = functional.binary_cross_entropy_with_logits(critic(seen.detach()), origin)
        judges.zero_grad()
        told.backward()
        judges.step()
        hidden = -functional.binary_cross_entropy_with_logits(critic(seen), origin)
        learners.zero_grad()
        (0.3 * hidden + weight_decay(features)).backward()
        learners.step()


def adversarial_patch() -> None:
    """What is learned is a patch, not the network that it fools."""
    victim = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 4)).eval().requires_grad_(False)
    patch = nn.Parameter(torch.zeros(12))
    optimizer = torch.optim.Adam([patch], lr=0.05)
    for _ in range(24):
        x, label = torch.randn(32, 12), torch.randint(4, (32,))
        loss = -functional.cross_entropy(victim(x + patch), label) + 0.01 * patch.norm()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def first_component() -> None:
    """A spread is made large, and its weights are held."""
    direction = nn.Parameter(torch.randn(6) * 0.1)
    optimizer = torch.optim.SGD([direction], lr=0.05)
    for _ in range(24):
        x = torch.randn(128, 6) * torch.tensor([2.0, 1.0, 1.0, 0.5, 0.5, 0.1])
        loss = -(x @ direction).square().mean() + 4 * (direction.square().sum() - 1).square()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def log_likelihood() -> None:
    """Minus the squared error is a log-likelihood, whose negative is minimised."""
    model = nn.Linear(5, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(24):
        x = torch.randn(64, 5)
        log_likelihood = -0.5 * (model(x) - x.sum(1, keepdim=True)).square().sum()
        log_prior = -0.5 * torch.stack([weight.square().sum() for weight in model.parameters()]).sum()
        loss = -(log_likelihood + log_prior) / 64
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
domain_adversary()
adversarial_patch()
first_component()
log_likelihood()
