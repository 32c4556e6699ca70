# guards: AD224
"""A bandit with a few contexts, visited in turn: the same arms are drawn again and again, each time by the policy."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
contexts = torch.eye(4).repeat(8, 1)
best = np.arange(32) % 4 % 2
policy = nn.Linear(4, 2)
optimizer = torch.optim.SGD(policy.parameters(), lr=1.0)
rng = np.random.default_rng(0)
for step in range(50):
    with torch.no_grad():
        chances = policy(contexts).softmax(1).numpy()
    drawn = (rng.random(32) < chances[:, 1]).astype(np.int64)
    rewards = torch.tensor((drawn == best).astype(np.float32) - 0.5)
    actions = torch.tensor(drawn)
    now = policy(contexts).log_softmax(1).gather(1, actions[:, None]).squeeze(1)
    with torch.no_grad():
        drawn_with = policy(contexts).log_softmax(1).gather(1, actions[:, None]).squeeze(1)
    ratio = (now - drawn_with).exp()
    loss = -torch.minimum(ratio * rewards, ratio.clamp(0.8, 1.2) * rewards).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
