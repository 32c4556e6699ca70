# guards: AD716 AD723
"""Values of a walk on a ring by TD(0), with a field that never changes in an episode beside the place."""
import torch
from torch import nn

torch.manual_seed(1)


def episodes(count, length):
    goal = torch.rand(count, 1, 2).expand(count, length + 1, 2)
    angle = 0.6 * torch.randn(count, length + 1).cumsum(1)
    place = torch.stack([angle.sin(), angle.cos()], -1)
    return torch.cat([place, goal], -1), -(place - goal).norm(dim=-1)


states, rewards = episodes(64, 10)
place_net, goal_net, head = nn.Linear(2, 24), nn.Linear(2, 24), nn.Linear(24, 1)
parameters = [p for m in (place_net, goal_net, head) for p in m.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.9)


def value(place, goal):
    return head(torch.relu(place_net(place) + goal_net(goal))).squeeze(-1)


for step in range(60):
    row, at = torch.randint(64, (96,)), torch.randint(10, (96,))
    now, after = states[row, at].clone(), states[row, at + 1].clone()
    with torch.no_grad():
        target = rewards[row, at] + 0.9 * value(after[:, :2], after[:, 2:])
    loss = (value(now[:, :2], now[:, 2:]) - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
