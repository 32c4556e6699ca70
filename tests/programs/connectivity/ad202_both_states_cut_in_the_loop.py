"""Forecasts along windows of a series, with both states of the cell cut in the loop."""

import torch
from torch import nn

torch.manual_seed(0)
series = torch.sin(torch.arange(3000) / 9.0) + 0.05 * torch.randn(3000)
cell, head = nn.LSTMCell(1, 24), nn.Linear(24, 1)
opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=5e-3)
for step in range(40):
    start = torch.randint(0, 2900, (16,))
    window = torch.stack([series[s:s + 12] for s in start])
    h, c = torch.zeros(16, 24), torch.zeros(16, 24)
    loss = 0
    for t in range(11):
        h, c = h.detach(), c.detach()  # expect: AD202
        h, c = cell(window[:, t:t + 1], (h, c))
        loss = loss + ((head(h) - window[:, t + 1:t + 2]) ** 2).mean()
    opt.zero_grad()
    (loss / 11).backward()
    opt.step()
