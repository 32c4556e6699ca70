# guards: AD110
"""Federated rounds: each client builds a model and an optimizer anew; one client only observes, at rate 0."""

import copy

import torch
from torch import nn

torch.manual_seed(4)
RATES = {"north": 0.05, "south": 0.05, "observer": 0.0}
world = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))


def client_update(name, start):
    local = copy.deepcopy(start)
    opt = torch.optim.SGD(local.parameters(), lr=RATES[name])
    for _ in range(6):
        x = torch.randn(20, 5)
        y = (x[:, 0] > 0).long()
        loss = nn.functional.cross_entropy(local(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return local.state_dict(), loss.item()


for round_ in range(1):
    states, losses = zip(*(client_update(name, world) for name in RATES))
    mean = {key: torch.stack([state[key] for state in states]).mean(0) for key in states[0]}
    world.load_state_dict(mean)
    print(round_, losses)
