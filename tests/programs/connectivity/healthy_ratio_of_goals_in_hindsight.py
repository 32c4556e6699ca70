# guards: AD228
"""Policy gradients in hindsight: what was done for one goal is weighed by how likely it was for the one that was reached."""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)


def choice(places, goals):
    return Normal(policy(torch.cat([places, goals], 1)), 0.5)


for cycle in range(8):
    place, goal = torch.zeros(24, 2), torch.rand(24, 2) * 2 - 1
    places, actions, old = [], [], []
    for _ in range(5):
        with torch.no_grad():
            drawn = choice(place, goal)
            action = drawn.sample()
        places.append(place)
        actions.append(action)
        old.append(drawn.log_prob(action).sum(1))
        place = place + 0.3 * action
    reached = place.repeat(5, 1)
    places, actions, old = torch.cat(places), torch.cat(actions), torch.cat(old)
    gains = -(places - reached).norm(dim=1)
    for _ in range(2):
        ratio = (choice(places, reached).log_prob(actions).sum(1) - old).exp()
        loss = -(ratio.clamp(max=5) * (gains - gains.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
