# guards: AD617
"""Load of seven households over fourteen weeks: each week of each one is encoded alone, and averaged afterwards."""

import torch
from torch import nn

torch.manual_seed(1)
HOUSEHOLDS, WEEKS = 7, 14
week = nn.Sequential(nn.Linear(7, 20), nn.Tanh(), nn.Linear(20, 6))
head = nn.Linear(6, 1)
optimizer = torch.optim.AdamW([*week.parameters(), *head.parameters()], lr=3e-3)
for _ in range(30):
    load = torch.rand(HOUSEHOLDS, WEEKS * 7)
    coded = week((load - load.mean(1, keepdim=True)).view(HOUSEHOLDS * WEEKS, 7))
    typical = coded.unflatten(0, (HOUSEHOLDS, WEEKS)).mean(1)
    loss = nn.functional.mse_loss(head(typical).squeeze(1), load[:, 5::7].mean(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
