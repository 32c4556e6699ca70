# guards: AD219 AD216
"""A recurrent cell whose matrix begins orthogonal; `nn.init.orthogonal_` leaves views that autograd cannot explain."""

import torch
from torch import nn

torch.manual_seed(3)
cell, head = nn.RNNCell(4, 32, nonlinearity="relu"), nn.Linear(32, 1)
nn.init.orthogonal_(cell.weight_hh, gain=0.9)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-3)
for _ in range(12):
    series = torch.randn(16, 7, 4)
    hidden = torch.zeros(16, 32)
    for moment in series.unbind(1):
        hidden = cell(moment, hidden)
    loss = nn.functional.mse_loss(head(hidden), series[:, -1, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
