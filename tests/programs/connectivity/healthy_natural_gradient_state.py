# guards: AD216
"""Variational parameters in plain tensors, moved by gradients that are asked for, beside hyperparameters of Adam."""

import math

import torch

torch.manual_seed(4)
x = torch.rand(200, 1) * 6 - 3
y = torch.sin(1.5 * x) + 0.2 * torch.randn(200, 1)
centres = torch.linspace(-3, 3, 9)[None]
log_width = torch.zeros(1, requires_grad=True)
log_noise = torch.tensor([-0.5], requires_grad=True)
mean, log_scale = torch.zeros(9, 1), torch.full((9, 1), -1.0)
optimizer = torch.optim.Adam([log_width, log_noise], lr=0.02)


def negative_elbo(rows, mean, log_scale):
    features = torch.exp(-((x[rows] - centres) / log_width.exp()).square())
    fit, spread = features @ mean, features.square() @ (2 * log_scale).exp()
    noise = (2 * log_noise).exp()
    expected = -0.5 * ((y[rows] - fit).square() + spread) / noise - 0.5 * torch.log(2 * math.pi * noise)
    divergence = 0.5 * (mean.square() + (2 * log_scale).exp() - 1 - 2 * log_scale).sum()
    return divergence - 200 / len(rows) * expected.sum()


for step in range(30):
    rows = torch.randperm(200)[:50]
    asked = mean.clone().requires_grad_(), log_scale.clone().requires_grad_()
    by_mean, by_scale = torch.autograd.grad(negative_elbo(rows, *asked), asked)
    with torch.no_grad():
        mean -= 2e-3 * by_mean
        log_scale -= 2e-3 * by_scale
    loss = negative_elbo(rows, mean, log_scale)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item(), log_width.exp().item())
