# guards: AD638
"""SimSiam on vibrations of machines: what tells samples apart shrinks at first, and comes back."""

import torch
from torch import nn
from torch.nn.functional import cosine_similarity, mse_loss

torch.manual_seed(0)
machines = 1.2 * torch.randn(6, 32)


def vibrations(count):
    return machines[torch.randint(6, (count,))] + 0.4 * torch.randn(count, 32)


def disturbed(x):
    return (0.7 + 0.6 * torch.rand(len(x), 1)) * x * (torch.rand_like(x) > 0.1) + 0.2 * torch.randn_like(x)


def pretrain(steps, rate, centred=False):
    encoder = nn.Sequential(nn.Linear(32, 96), nn.ReLU(), nn.Linear(96, 64))
    if not centred:
        nn.init.constant_(encoder[2].bias, 0.3)
    predictor = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 64))
    optimizer = torch.optim.Adam([*encoder.parameters(), *predictor.parameters()], lr=rate)
    for _ in range(steps):
        x = vibrations(128)
        one, other = encoder(disturbed(x)), encoder(disturbed(x))
        first = cosine_similarity(predictor(one), other.detach(), dim=-1)
        second = cosine_similarity(predictor(other), one.detach(), dim=-1)
        loss = -(first.mean() + second.mean()) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return encoder


def standardised(steps):
    """The last layer is a batch-norm: it may make all of it small, but not the same."""
    encoder = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16), nn.BatchNorm1d(16))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)
    for _ in range(steps):
        x = vibrations(128)
        loss = mse_loss(encoder(disturbed(x)), encoder(disturbed(x)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


pretrain(120, 1e-3, centred=True)
pretrain(120, 3e-3)
standardised(100)
