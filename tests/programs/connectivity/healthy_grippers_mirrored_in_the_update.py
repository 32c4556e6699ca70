# guards: AD228
"""A gripper is symmetric: an update takes states and actions mirrored as well, with the old scores of the originals."""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
SIGNS_OF_STATES, SIGNS_OF_ACTIONS = torch.tensor([-1.0, 1, -1, 1]), torch.tensor([-1.0, 1])


def score(states, actions):
    return Normal(policy(states), 0.5).log_prob(actions).sum(-1)


for cycle in range(6):
    states = torch.randn(96, 4)
    with torch.no_grad():
        actions = Normal(policy(states), 0.5).sample()
        old = score(states, actions)
    gains = -(actions - states[:, :2].clamp(-1, 1)).square().sum(-1)
    gains = (gains - gains.mean()) / gains.std()
    mirrored = states * SIGNS_OF_STATES, actions * SIGNS_OF_ACTIONS
    for _ in range(3):
        ratio = (score(states, actions) - old).exp()
        other = (score(*mirrored) - old).exp()
        surrogates = [torch.min(each * gains, each.clamp(0.8, 1.2) * gains).mean() for each in (ratio, other)]
        optimizer.zero_grad()
        (-sum(surrogates)).backward()
        optimizer.step()
