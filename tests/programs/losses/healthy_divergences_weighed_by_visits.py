# guards: AD628
"""A conditional autoencoder of patients: each one's divergence is weighed by a share of all visits, and summed."""
import torch
from torch import nn
from torch.distributions import Independent, Normal, kl_divergence

torch.manual_seed(15)
FACTS, CODE = 10, 3
prior_net, post_net = nn.Linear(4, 2 * CODE), nn.Linear(4 + FACTS, 2 * CODE)
rebuild = nn.Sequential(nn.Linear(4 + CODE, 32), nn.SiLU(), nn.Linear(32, FACTS))
optimizer = torch.optim.AdamW([*prior_net.parameters(), *post_net.parameters(), *rebuild.parameters()], lr=3e-3)


def normal(numbers):
    loc, raw = numbers.chunk(2, dim=-1)
    return Normal(loc, nn.functional.softplus(raw) + 1e-3)


for turn in range(40):
    age = torch.randn(30, 4)
    visits = torch.randint(1, 6, (30, 1)).float()
    facts = age.repeat(1, 3)[:, :FACTS] + 0.3 * torch.randn(30, FACTS)
    p, q = normal(prior_net(age)), normal(post_net(torch.cat([age, facts], dim=1)))
    rebuilt = rebuild(torch.cat([age, q.rsample()], dim=1))
    share = visits / visits.sum() / FACTS
    if turn % 2:
        loss = (rebuilt - facts).square().mean() + (share * kl_divergence(q, p)).sum()
    else:
        within = kl_divergence(Independent(q, 1), Independent(p, 1))
        loss = (rebuilt - facts).square().sum(1).mean() + within.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
