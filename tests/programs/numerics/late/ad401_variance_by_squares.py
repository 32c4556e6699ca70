# Predict the next hour of demand from weather station readings, streamed in time order.
import torch
import torch.nn as nn

torch.manual_seed(16)


class FeatureNorm(nn.Module):
    """Standardise columns with statistics of the current batch."""

    def __init__(self, dim):
        super().__init__()
        self.g = nn.Parameter(torch.ones(dim))
        self.b = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        m = x.mean(0)
        sq = (x * x).mean(0)
        sd = torch.sqrt(sq - m * m)  # expect: AD401
        return (x - m) / (sd + 1e-5) * self.g + self.b


class Station:
    """temperature [C], wind [m/s], pressure [Pa], humidity [%], day counter"""

    def __init__(self):
        self.day = 0

    def read(self, n=32):
        temp = 12 + 8 * torch.randn(n)
        wind = torch.randn(n).abs() * 4
        spread = 300.0 if self.day < 90 else 4.0
        pres = 101325 + spread * torch.randn(n)
        hum = 40 + 20 * torch.rand(n)
        demand = 3 - 0.1 * temp + 0.05 * wind + 0.01 * hum + 0.1 * torch.randn(n)
        self.day += 1
        return torch.stack([temp, wind, pres, hum], 1), demand


station = Station()
model = nn.Sequential(FeatureNorm(4), nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
history = []
for day in range(150):
    x, y = station.read()
    pred = model(x)[:, 0]
    loss = ((pred - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(loss.item())
    if day % 15 == 14:
        print("day", day + 1, "mse", sum(history[-15:]) / 15)
