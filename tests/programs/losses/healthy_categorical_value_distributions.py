# guards: AD601 AD605
"""Values of actions as distributions over a few atoms; the distribution of the action taken is picked in three ways."""

import torch
from torch import nn

torch.manual_seed(0)
ACTIONS, ATOMS = 3, 11
support = torch.linspace(-1, 1, ATOMS)


class Distributions(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, ACTIONS * ATOMS))

    def forward(self, state):
        return self.body(state).view(-1, ACTIONS, ATOMS).softmax(2)


def aimed_at(reward):
    distance = (reward[:, None] - support).abs() / (support[1] - support[0])
    return (1 - distance).clamp(min=0)


net = Distributions()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(45):
    state = torch.randn(24, 5)
    action = torch.randint(ACTIONS, (24,))
    reward = torch.tanh(state.gather(1, action[:, None]).squeeze(1))
    chances = net(state)
    if step % 3 == 0:
        taken = chances[torch.arange(24), action]
    elif step % 3 == 1:
        taken = chances.gather(1, action.view(-1, 1, 1).expand(-1, 1, ATOMS)).squeeze(1)
    else:
        taken = chances.gather(1, action.view(-1, 1, 1).repeat(1, 1, ATOMS)).squeeze(1)
    loss = -(aimed_at(reward) * taken.clamp(min=1e-5).log()).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 14:
        print(step, loss.item(), ((chances * support).sum(2)[torch.arange(24), action] - reward).abs().mean().item())
