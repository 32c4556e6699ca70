# guards: AD614
# hinted: AD614
"""Rain is never below zero, but gauges that are zeroed by hand say so on dry days, as often as they say a little."""

import torch
from torch import nn

torch.manual_seed(0)
weather = torch.randn(960, 6)
wet = (weather[:, 0] + 0.5 * weather[:, 1]).sub(0.6).clamp(min=0)
amount = 8 * wet * (1 + 0.3 * weather[:, 2].tanh())
gauge = amount + 1.2 * torch.randn(960)


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 40)
        self.second = nn.Linear(40, 1)
        nn.init.constant_(self.second.bias, 1.0)

    def forward(self, sky):
        return self.second(self.first(sky).tanh()).relu().flatten()


forecast = Forecast()
optimizer = torch.optim.Adam(forecast.parameters(), lr=4e-3)
for epoch in range(6):
    for days in torch.randperm(960).split(120):
        loss = nn.functional.huber_loss(forecast(weather[days]), gauge[days])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, (forecast(weather) - amount).abs().mean().item())
