"""Soil moisture by a stack of layers; a dropout was put in since the weights were saved: all later numbers moved."""
import torch
from torch import nn


class Sensor(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        between = [nn.Dropout(0.1)] * dropout
        self.offset = nn.Embedding(4, 1)
        self.layers = nn.Sequential(
            nn.Linear(9, 16), nn.ReLU(), *between, nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1)
        )

    def forward(self, x, site):
        return (self.layers(x) + self.offset(site)).squeeze(1)


def fit(sensor, steps):
    optimizer = torch.optim.Adam(sensor.parameters(), lr=5e-3)
    for _ in range(steps):
        x, site = torch.randn(32, 9), torch.randint(0, 4, (32,))
        loss = nn.functional.mse_loss(sensor(x, site), x[:, 0] * x[:, 1] + 0.5 * site)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
first, second = Sensor(dropout=0), Sensor(dropout=1)
fit(first, 20)
second.load_state_dict(first.state_dict(), strict=False)  # expect: AD710
fit(second, 20)
