# guards: AD618
"""Equations that hold within what a net gives back at once: charge that is carried on, states and a ring of cells that
come to rest, and the cost that is still to come on one fixed road."""
import torch
from torch import nn

KEPT, STEPS = 0.8, 16

torch.manual_seed(6)
charge = nn.GRU(1, 24, batch_first=True)
read = nn.Linear(24, 1)
rest = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 4))
to_come = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1), nn.Flatten(0))
optimizer = torch.optim.Adam([p for m in (charge, read, rest, to_come) for p in m.parameters()], lr=5e-3)
road = torch.linspace(0, 1, 30)[:, None]
steep = 0.2 + (6 * road[:, 0]).sin().square()


def carried_on():
    fed = torch.rand(12, STEPS)
    held = read(charge(fed[..., None])[0]).squeeze(2)
    expected = KEPT * held[:, :-1] + fed[:, 1:]
    return nn.functional.mse_loss(held[:, 1:], expected) + (held[:, 0] ** 2).mean()


def at_rest():
    pushed = torch.randn(32, 4)
    state = rest(pushed)
    return (state - (0.9 * state + pushed)).square().mean() + (state - (0.5 * state.roll(-1, 1) + pushed)).square().mean()


def still_to_come():
    cost = to_come(road)
    return (cost[:-1] - (steep[:-1] + 0.9 * cost[1:])).square().mean()


for step in range(40):
    loss = carried_on() + at_rest() + still_to_come()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step, loss.item())
