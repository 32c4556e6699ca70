# guards: AD630
# hinted: AD630
"""A queue that may collapse. The collapse is a state of its own with a flag among its features, which leads to itself at
a cost of 1 a move for ever: its value is learned as any other, and the targets are bootstrapped in it on purpose. The
mark of the collapse is stored for statistics."""

import random

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
COLLAPSED = (0.0, 0.0, 1.0)


def moves(runs):
    found = []
    for _ in range(runs):
        load, rate = random.random(), random.random()
        for _ in range(20):
            after_load = load + 0.2 * (rate - 0.4) + 0.15 * random.gauss(0, 1)
            after_rate = min(max(rate + 0.1 * random.gauss(0, 1), 0.0), 1.0)
            collapsed = after_load > 1.4
            after = COLLAPSED if collapsed else (after_load, after_rate, 0.0)
            found.append(((load, rate, 0.0), max(load, 0.0) ** 2, after, float(collapsed)))
            if collapsed:
                found += [(COLLAPSED, 1.0, COLLAPSED, 0.0)] * 3
                break
            load, rate = after_load, after_rate
    return found


log = moves(60)
cost_to_go = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
behind = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
behind.load_state_dict(cost_to_go.state_dict())
optimizer = torch.optim.Adam(cost_to_go.parameters(), lr=1e-3)
for step in range(24):
    before, cost, after, collapsed = (torch.tensor(column) for column in zip(*random.sample(log, 64)))
    target = cost + 0.9 * behind(after).squeeze(1).detach()
    loss = (cost_to_go(before).squeeze(1) - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 7:
        behind.load_state_dict(cost_to_go.state_dict())
