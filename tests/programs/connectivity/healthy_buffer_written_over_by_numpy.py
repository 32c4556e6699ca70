# guards: AD224
"""Tensors that share their memory with arrays, which an environment fills anew before each update."""

import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
rng = np.random.default_rng(0)
seen, taken, gained = (np.zeros(shape, np.float32) for shape in ((64, 3), (64, 2), (64,)))
states, actions, gains = map(torch.from_numpy, (seen, taken, gained))
policy = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=2e-3)
for update in range(30):
    seen[:] = rng.standard_normal(seen.shape)
    with torch.no_grad():
        means = policy(states).numpy()
    taken[:] = means + 0.5 * rng.standard_normal(taken.shape)
    gained[:] = -np.square(taken - seen[:, :2]).sum(1)
    gained[:] = (gained - gained.mean()) / gained.std()
    now = Normal(policy(states), 0.5).log_prob(actions).sum(1)
    with torch.no_grad():
        drawn_with = Normal(policy(states), 0.5).log_prob(actions).sum(1)
    ratio = (now - drawn_with).exp()
    loss = -torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
