# guards: AD638
"""Views of spectra are drawn together; their variance, or their covariance, is held up."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(5)


def views(count):
    spectrum = torch.randn(count, 40).cumsum(1) / 6
    return spectrum + 0.1 * torch.randn_like(spectrum), spectrum * (0.9 + 0.2 * torch.rand(count, 1))


def covariance(z):
    z = z - z.mean(0)
    products = z.T @ z / (len(z) - 1)
    return (products - torch.diag(products.diag())).square().sum() / z.shape[1]


def vicreg(one, other):
    varied = sum((1 - (z.var(0) + 1e-4).sqrt()).relu().mean() for z in (one, other))
    return 25 * F.mse_loss(one, other) + 25 * varied + covariance(one) + covariance(other)


def barlow(one, other):
    one, other = ((z - z.mean(0)) / (z.std(0) + 1e-5) for z in (one, other))
    products = one.T @ other / len(one)
    return (products.diag() - 1).square().sum() + 0.01 * (products - torch.diag(products.diag())).square().sum()


def volume(one, other):
    """Distances beside the logarithm of the volume that the outputs fill."""
    z = one - one.mean(0)
    return F.mse_loss(one, other) - 0.1 * torch.logdet(z.T @ z / len(z) + 0.1 * torch.eye(z.shape[1]))


for objective in (vicreg, barlow, volume):
    encoder = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 16))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=5e-3)
    for _ in range(60):
        first, second = views(96)
        loss = objective(encoder(first), encoder(second))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
