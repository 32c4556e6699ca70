# guards: AD728
"""Prices of flats; that they err alike in both halves of the town is asked of the square of a mean, by two draws."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
flats = torch.randn(480, 6)
side = (flats[:, 0] + 0.5 * torch.randn(480) > 0).float() * 2 - 1
prices = flats @ torch.linspace(-1, 1, 6) + 0.4 * side
loader = DataLoader(TensorDataset(flats, side, prices), batch_size=40, shuffle=True)


def slant(model, flats, side, prices):
    return (model(flats)[:, 0] - prices) * side


model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
with torch.no_grad():
    drawn_before = [slant(model, *batch) for batch in loader]
for _ in range(4):
    drawn_now = []
    for batch, independent in zip(loader, drawn_before):
        terms = slant(model, *batch)
        loss = terms.square().mean() + 3 * (terms * independent).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        drawn_now.append(terms.detach())
    drawn_before = drawn_now
