# guards: AD617
"""Copies that are shuffled before they are put into groups: each group is compared with whom chance puts there."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(30):
    players = torch.randn(9, 4)
    strength = players.sum(1)
    many, truth = players.repeat(4, 1), strength.repeat(4)
    order = torch.randperm(36)
    tables, won = many[order].view(9, 4, 4), truth[order].view(9, 4)
    by_list = model(players.repeat_interleave(4, 0))[torch.randperm(36).tolist()].view(4, 9)
    loss = nn.functional.cross_entropy(model(tables).squeeze(2), won.argmax(1)) + 0.01 * by_list.logsumexp(0).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
