"""Extragradient for a game: half a step to look ahead, then the real one from where it began (Korpelevich 1976)."""

import torch

torch.manual_seed(0)
payoff = torch.randn(6, 6)
row, column = torch.nn.Parameter(torch.randn(6)), torch.nn.Parameter(torch.randn(6))
players = [row, column]
optimizer = torch.optim.SGD(players, lr=0.05)


def backward():
    for p in players:
        p.grad = None
    value = row.softmax(0) @ payoff @ column.softmax(0)
    value.backward()
    column.grad.neg_()
    return value


def look_ahead():
    with torch.no_grad():
        for p in players:
            p.sub_(p.grad, alpha=0.05)


for step in range(60):
    start = [p.detach().clone() for p in players]
    backward()
    look_ahead()
    value = backward()
    with torch.no_grad():
        for p, s in zip(players, start, strict=True):
            p.copy_(s)
    optimizer.step()
    if step % 20 == 0:
        print(step, value.item())
