# guards: AD310
"""The states of two networks are taken once: every few steps the target's is moved towards the other, and a log is
written of their norms."""

import torch
from torch import nn

torch.manual_seed(0)


class Log:
    def __init__(self, weights):
        self.weights, self.lines = weights, []

    def write(self, step):
        self.lines.append((step, {name: value.norm().item() for name, value in self.weights.items()}))


def network():
    return nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))


policy, target = network(), network()
target.load_state_dict(policy.state_dict())
source, goal = policy.state_dict(), target.state_dict()
log = Log({f"policy.{name}": value for name, value in policy.state_dict().items()})
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for step in range(24):
    state, following, reward = torch.randn(32, 4), torch.randn(32, 4), torch.randn(32)
    with torch.no_grad():
        wanted = reward + 0.9 * target(following).amax(1)
    loss = nn.functional.smooth_l1_loss(policy(state).amax(1), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 3:
        for name in goal:
            goal[name].lerp_(source[name], 0.1)
        log.write(step)
