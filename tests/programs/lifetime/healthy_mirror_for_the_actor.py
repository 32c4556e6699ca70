# guards: AD310
"""The actor plays with a mirror of the learner's weights: a list of pairs, the second of which is the learner's own."""

import torch
import torch.nn.functional as F
from torch import nn


def network():
    return nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 4))


torch.manual_seed(0)
learner, actor = network(), network().requires_grad_(False)
source = learner.state_dict()
pairs = list(zip(actor.parameters(), source.values()))
optimizer = torch.optim.RMSprop(learner.parameters(), lr=2e-3)
payoff = torch.randn(3, 4)
for _ in range(24):
    for copied, value in pairs:
        copied.copy_(value)
    state = torch.randn(32, 3)
    arm = torch.where(torch.rand(32) < 0.2, torch.randint(0, 4, (32,)), actor(state).argmax(1))
    won = (state @ payoff).gather(1, arm[:, None]).squeeze(1)
    loss = F.smooth_l1_loss(learner(state).gather(1, arm[:, None]).squeeze(1), won)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
