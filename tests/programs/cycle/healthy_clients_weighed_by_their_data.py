# guards: AD121
"""Federated rounds: a server adds up the clients' weights by their share of the data, then a difference as momentum."""

import copy

import torch
from torch import nn


def local(server, rows, labels):
    client = copy.deepcopy(server)
    optimizer = torch.optim.SGD(client.parameters(), lr=0.1)
    for part in torch.arange(len(rows)).split(16):
        loss = nn.functional.binary_cross_entropy_with_logits(client(rows[part]).squeeze(1), labels[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return client


torch.manual_seed(0)
sizes = [48, 32, 80]
data = [torch.randn(size, 7) + 0.3 * number for number, size in enumerate(sizes)]
server = nn.Linear(7, 1)
speed = [torch.zeros_like(weight) for weight in server.parameters()]
for _ in range(5):
    clients = [local(server, rows, (rows[:, 0] > 0).float()) for rows in data]
    with torch.no_grad():
        for place, weight in enumerate(server.parameters()):
            total = torch.zeros_like(weight)
            for client, size in zip(clients, sizes):
                total.add_(list(client.parameters())[place], alpha=size / sum(sizes))
            speed[place].mul_(0.5).add_(total - weight)
            weight.add_(speed[place])
