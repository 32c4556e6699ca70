# guards: AD706
"""Cross-validation over the nodes of a power grid, with all weights reset for each fold, and all nodes scored last."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
n = 120
load = torch.randn(n, 6)
wires = (torch.rand(n, n) < 0.05).float()
wires = (wires + wires.T).clamp(max=1) + torch.eye(n)
wires = wires / wires.sum(1, keepdim=True)
price = (wires @ load).sum(1) + 0.1 * torch.randn(n)
fold_of = torch.randperm(n) % 4


class Grid(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(6, 24), nn.Linear(24, 1)

    def forward(self, load):
        return self.outer(torch.tanh(self.inner(wires @ load))).squeeze(1)


grid = Grid()
for fold in range(4):
    grid.inner.reset_parameters()
    grid.outer.reset_parameters()
    optimizer = torch.optim.Adam(grid.parameters(), lr=0.02)
    held_out = fold_of == fold
    for _ in range(7):
        optimizer.zero_grad()
        F.mse_loss(grid(load)[~held_out], price[~held_out]).backward()
        optimizer.step()
    with torch.no_grad():
        found = grid(load)
        print(fold, F.mse_loss(found[held_out], price[held_out]).item(), F.mse_loss(found, price).item())
