# guards: AD204
# hinted: AD204
"""A voice adapter before an encoder that came as a table of arrays, each copied to its place, which stays as it was."""

import numpy as np
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, bands: int = 12, width: int = 16) -> None:
        super().__init__()
        self.spread = nn.Linear(bands, width)
        self.mix = nn.Linear(width, 6)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        return self.mix(torch.tanh(self.spread(frames)))


def delivered(bands: int = 12, width: int = 16) -> dict[str, np.ndarray]:
    numbers = np.random.default_rng(5)
    return {
        "spread.weight": numbers.normal(size=(width, bands)).astype(np.float32) / bands**0.5,
        "spread.bias": numbers.normal(size=width).astype(np.float32),
        "mix.weight": numbers.normal(size=(6, width)).astype(np.float32) / width**0.5,
        "mix.bias": numbers.normal(size=6).astype(np.float32),
    }


torch.manual_seed(0)
encoder, adapter = Encoder(), nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 12))
arrays = delivered()
with torch.no_grad():
    for name, parameter in encoder.named_parameters():
        parameter.copy_(torch.from_numpy(arrays[name]))

optimizer = torch.optim.Adam(adapter.parameters(), lr=1e-2)
for _ in range(30):
    voices = torch.randn(64, 8)
    speakers = voices[:, :6].argmax(dim=1)
    loss = nn.functional.cross_entropy(encoder(adapter(voices)), speakers)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
