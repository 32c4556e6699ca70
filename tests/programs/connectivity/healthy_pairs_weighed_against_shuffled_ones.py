# guards: AD228
"""Three ratios of one network to itself that are none of a policy: pairs to shuffled pairs, data to noise, two draws."""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(4, 32), nn.ELU(), nn.Linear(32, 1))
posterior = nn.Sequential(nn.Linear(2, 16), nn.ELU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam([*critic.parameters(), *posterior.parameters()], lr=1e-3)


def score(x, y):
    return critic(torch.cat([x, y], 1)).squeeze(1)


def chance(x, z):
    return Normal(posterior(x), 0.5).log_prob(z).sum(1)


for step in range(24):
    x = torch.randn(64, 2)
    y = x + 0.3 * torch.randn(64, 2)
    with torch.no_grad():
        shuffled = score(x, y[torch.randperm(64)])
        noise = score(x, torch.randn(64, 2))
        one, other = (Normal(posterior(x), 0.5).sample() for _ in range(2))
        beside = chance(x, one)
    own = score(x, y)
    of_pairs = ((own - shuffled).exp().clamp(max=5) * y[:, 0].abs()).mean()
    of_noise = ((noise - own).exp().clamp(max=5) * y[:, 1].abs()).mean()
    of_draws = ((chance(x, other) - beside).exp().clamp(max=5) * (other - x).norm(dim=1)).mean()
    optimizer.zero_grad()
    (of_noise + of_draws - 0.1 * of_pairs).backward()
    optimizer.step()
