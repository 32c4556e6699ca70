"""Will the gate have to be shut? Six gauges along the river, read once an hour."""
import torch
from torch import nn
import torch.nn.functional as F

SIZE = 24


def season(hours, seed):
    made = torch.Generator().manual_seed(seed)
    gauges = torch.randn(hours, 6, generator=made).cumsum(1)
    return gauges, (gauges[:, -1] + 0.5 * gauges[:, 2] > 0).long()


def draw(gauges, shut):
    hour = torch.randint(len(gauges), ()).item()
    return gauges[hour].repeat(SIZE, 1), shut[hour].repeat(SIZE)  # <- AD715


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 32), nn.LeakyReLU(), nn.Linear(32, 2))

    def forward(self, gauges):
        return self.layers(gauges.clamp(-6, 6))


torch.manual_seed(4)
gauges, shut = season(900, 1)
gate = Gate()
optimiser = torch.optim.SGD(gate.parameters(), lr=0.02, momentum=0.5)
for _ in range(40):
    now, then = draw(gauges, shut)
    optimiser.zero_grad()
    F.cross_entropy(gate(now), then).backward()
    optimiser.step()
