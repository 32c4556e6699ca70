"""Acoustic leak detection on water pipes: boosting's exponential loss tried on a small net."""
import torch
from torch import nn


def recordings(count, rng):
    leaking = torch.rand(count, 1, generator=rng) < 0.5
    hum = torch.randn(count, 10, generator=rng)
    hiss = leaking * torch.linspace(0.2, 1.0, 10)
    return hum + hiss, leaking


class Listener(nn.Module):
    def __init__(self, bands=10):
        super().__init__()
        self.body = nn.Sequential(nn.LayerNorm(bands), nn.Linear(bands, 20), nn.SiLU())
        self.verdict = nn.Linear(20, 1)

    def forward(self, spectrum):
        return self.verdict(self.body(spectrum))


def exponential(score, leak, wanted=1.0):
    agreement = score * leak  # <- AD637
    return torch.exp(-agreement / wanted).sum() / len(score)


rng = torch.Generator().manual_seed(4)
torch.manual_seed(4)
net = Listener()
adam = torch.optim.Adam(net.parameters(), lr=2e-3)
for week in range(50):
    heard, leaking = recordings(40, rng)
    leak = leaking.to(heard.dtype)
    decay = sum(weight.square().sum() for weight in net.parameters() if weight.dim() > 1)
    loss = exponential(net(heard), leak) + 1e-3 * decay
    adam.zero_grad()
    loss.backward()
    adam.step()
    if week % 10 == 0:
        print(week, float(loss))
