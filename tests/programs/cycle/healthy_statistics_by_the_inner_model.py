# guards: AD120
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel


class Gauge(nn.Module):
    """Rainfall by what a microphone hears: what it hears is filtered, and then read off."""

    def __init__(self):
        super().__init__()
        self.filters = nn.Sequential(nn.Conv1d(1, 6, 5), nn.BatchNorm1d(6), nn.ReLU(), nn.Conv1d(6, 6, 5))
        self.level = nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 1))

    def forward(self, sound):
        return self.level(self.filters(sound).square().mean(2).log1p())


def hear():
    rain = torch.rand(48, 1)
    return (0.2 + rain).unsqueeze(2) * torch.randn(48, 1, 40), rain


torch.manual_seed(0)
gauge = Gauge()
average = AveragedModel(gauge)
optimizer = torch.optim.Adam(gauge.parameters(), lr=0.01)
for step in range(24):
    sound, rain = hear()
    optimizer.zero_grad()
    nn.functional.mse_loss(gauge(sound), rain).backward()
    optimizer.step()
    if step >= 12 and step % 3 == 0:
        average.update_parameters(gauge)

inner = average.module.train()
with torch.no_grad():
    for _ in range(12):
        sound, _ = hear()
        inner.level(inner.filters(sound).square().mean(2).log1p())
average.eval()
with torch.inference_mode():
    sound, rain = hear()
    print(nn.functional.l1_loss(average(sound), rain).item())
