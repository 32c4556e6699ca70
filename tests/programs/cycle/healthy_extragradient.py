# guards: AD102
"""Extragradient for a game of two players: a trial step to look ahead, then the real one from where they stood."""

import copy

import torch
from torch import nn

torch.manual_seed(8)
payoff = torch.randn(6, 6) * 0.5
players = nn.ModuleDict({"row": nn.Linear(3, 6), "column": nn.Linear(3, 6)})
optimizers = [torch.optim.SGD(p.parameters(), lr=0.2) for p in players.values()]


def play(context):
    row, column = (players[name](context).softmax(1) for name in ("row", "column"))
    value = torch.einsum("bi,ij,bj->b", row, payoff, column).mean()
    entropy = sum(-(p * p.log()).sum(1).mean() for p in (row, column))
    for player, sign in (("row", -1), ("column", 1)):
        others = [p for name in players if name != player for p in players[name].parameters()]
        for p in others:
            p.requires_grad_(False)
        (sign * value - 0.05 * entropy).backward(retain_graph=True, inputs=list(players[player].parameters()))
        for p in others:
            p.requires_grad_(True)
    return value.item()


for round_ in range(25):
    context = torch.randn(48, 3)
    before = copy.deepcopy(players.state_dict())
    players.zero_grad()
    play(context)
    with torch.no_grad():
        for p in players.parameters():
            p.sub_(0.2 * p.grad)
    players.zero_grad()
    value = play(context)
    players.load_state_dict(before)
    for optimizer in optimizers:
        optimizer.step()
print(value)
