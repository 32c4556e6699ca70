"""How far off a satellite is, in metres, from its angles over some hours and a bend of their light that is learned."""
import torch
from torch import nn

torch.manual_seed(21)
MU, RADIUS = 3.986e14, 4.19e7


class Orbit(nn.Module):
    def __init__(self):
        super().__init__()
        self.radius = nn.Parameter(torch.tensor(4.2164e7))
        self.start = nn.Parameter(torch.tensor(0.4))
        self.bend = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 1))

    def forward(self, seconds, air):
        turned = seconds * MU**0.5 * self.radius**-1.5
        return self.start + turned + self.bend(air).squeeze(1)


def watch(nights):
    seconds, air = 20_000 * torch.rand(nights), torch.randn(nights, 2)
    angle = 0.5 + seconds * (MU / RADIUS**3) ** 0.5 + 0.2 * torch.tanh(air[:, 0]) + 0.01 * torch.randn(nights)
    return seconds, air, angle


orbit = Orbit()
adam = torch.optim.Adam(orbit.parameters(), lr=0.02)
for night in range(40):
    seconds, air, angle = watch(64)
    miss = (orbit(seconds, air) - angle).square().mean()
    adam.zero_grad()
    miss.backward()
    adam.step()  # <- AD111
print(miss.item(), orbit.radius.item() - RADIUS)
