"""A forecast of demand; every epoch goes through the days in another order."""
import torch
from torch import nn

torch.manual_seed(0)
weather = torch.rand(240, 5)
demand = (weather @ torch.tensor([2.0, -1.0, 0.5, 0.0, 1.0]) + 0.05 * torch.randn(240)).unsqueeze(1)


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, days):
        return self.layers(days)


def epoch(model, optimizer, inputs, goals, size=24):
    total = 0.0
    for start in range(0, len(inputs), size):
        days, wanted = inputs[start : start + size], goals[start : start + size]
        loss = nn.functional.l1_loss(model(days), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


model = Forecast()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for number in range(4):
    order = torch.randperm(len(demand))
    print(number, epoch(model, optimizer, weather, demand[order]))  # expect: AD708
