"""Spike counts of a retina: two stages of linear filters, each cut off from below."""
import torch
from torch import nn

torch.manual_seed(4)
CELLS = 48


class Stage(nn.Module):
    def __init__(self, inputs, cells, cutoff):
        super().__init__()
        self.filters = nn.Parameter(torch.randn(cells, inputs) / inputs**0.5)
        self.offset = nn.Parameter(torch.full((cells,), cutoff))

    def forward(self, light):
        drive = nn.functional.linear(light, self.filters, self.offset)
        return torch.clamp(drive, min=0.0)  # <- AD408


retina = nn.Sequential(Stage(20, CELLS, -6.0), nn.Linear(CELLS, 10))
optimizer = torch.optim.Adam(retina.parameters(), lr=1e-3)
wiring = torch.randn(20, 10)
for trial in range(25):
    light = torch.randn(64, 20)
    counts = (light @ wiring).abs()
    loss = nn.functional.mse_loss(retina(light), counts)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
