# guards: AD514
"""A spectral norm and a weight norm: weights are set before, by assignment, and by what they are computed from."""

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

torch.manual_seed(0)
first = nn.Linear(6, 16)
first.weight.data.normal_(0, 0.3)
first = weight_norm(first)
first.weight = torch.randn(16, 6) * 0.2
first.parametrizations.weight.original0.data.mul_(1.5)
second = nn.Linear(16, 1)
nn.init.orthogonal_(second.weight)
second = spectral_norm(second)
second.bias.data.zero_()
critic = nn.Sequential(first, nn.ReLU(), second)
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)
for _ in range(40):
    x = torch.randn(32, 6)
    loss = nn.functional.softplus(-critic(x + 1)).mean() + nn.functional.softplus(critic(x - 1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(first.weight.detach().clone().abs_().mean())
