# guards: AD608
# hinted: AD608
"""Each call is given one system of stars: its rows are no samples, and what pulls a star are the others."""

import torch
from torch import nn


class Pull(nn.Module):
    def __init__(self):
        super().__init__()
        self.strength = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, stars):
        place, mass = stars[:, :2], stars[:, 2:]
        apart = place.unsqueeze(0) - place.unsqueeze(1)
        distance = apart.square().sum(2, keepdim=True)
        masses = mass.unsqueeze(0) * torch.ones_like(distance), mass.unsqueeze(1) * torch.ones_like(distance)
        return (self.strength(torch.cat([distance, *masses], 2)) * apart).sum(1)


def pulled(stars):
    place, mass = stars[:, :2], stars[:, 2:]
    apart = place[None] - place[:, None]
    return (mass[None] * apart / (apart.square().sum(2, keepdim=True) + 0.5)).sum(1)


torch.manual_seed(11)
model = Pull()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(30):
    stars = torch.cat([torch.randn(9, 2), torch.rand(9, 1) + 0.5], dim=1)
    loss = nn.functional.mse_loss(model(stars), pulled(stars))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
