# guards: AD310
"""A state is changed in place and loaded back, a check of the keys is done once, and one line gives the server's state to
each client, of which the first is the server's own model."""

import copy

import torch
from torch import nn


def follow(target, online, share):
    state = target.state_dict()
    for name, value in online.state_dict().items():
        state[name].lerp_(value, share)
    target.load_state_dict(state)


def fit(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x[:, :1] - x[:, 1:2])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
server = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 1))
server.load_state_dict(server.state_dict(), strict=True)
average = copy.deepcopy(server).requires_grad_(False)
clients = [server, *(copy.deepcopy(server) for _ in range(2))]
for _ in range(4):
    for client in reversed(clients):
        client.load_state_dict(server.state_dict())
        fit(client, 2)
    with torch.no_grad():
        for each in zip(*(client.parameters() for client in clients), strict=True):
            each[0].copy_(torch.stack(each).mean(0))
    follow(average, server, 0.3)
