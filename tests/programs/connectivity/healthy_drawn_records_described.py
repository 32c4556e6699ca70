# guards: AD211
"""Records of a table are made of noise; every so often a description of some is printed, as their mean and spread."""
import torch
from torch import nn


class Coupled(nn.Module):
    def __init__(self, noise, columns):
        super().__init__()
        self.enter, self.norm = nn.Linear(noise, 40), nn.BatchNorm1d(40)
        self.leave = nn.Linear(40, columns)

    def forward(self, z):
        return self.leave(torch.tanh(self.norm(self.enter(z))))


def spread(a, b):
    return torch.exp(-torch.cdist(a, b).square() / 4).mean()


torch.manual_seed(0)
table = Coupled(5, 3)
optimizer = torch.optim.Adam(table.parameters(), lr=3e-3)
for step in range(28):
    age = 2 + torch.randn(64, 1)
    real = torch.cat([age, 0.5 * age + 0.2 * torch.randn(64, 1), torch.randn(64, 1).abs()], 1)
    drawn = table(torch.randn(64, 5))
    loss = spread(drawn, drawn) - 2 * spread(drawn, real) + spread(real, real)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step in (6, 13, 20):
        with torch.no_grad():
            some = table(torch.randn(200, 5))
            print(step, some.mean(0).tolist(), some.std(0).tolist())
