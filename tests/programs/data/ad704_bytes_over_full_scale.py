"""Sound spectra kept as bytes in a memory buffer, read batch by batch."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(3)
torch.manual_seed(3)
speaker = rng.integers(0, 4, 256)
spectra = rng.integers(0, 90, (256, 20)).astype(np.uint8)
spectra[np.arange(256), speaker * 5] += 110


class Voice(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 32), nn.GELU())
        self.head = nn.Linear(32, 4)

    def forward(self, frames):
        return self.head(self.body(frames))


def batches(size):
    for start in range(0, 256, size):
        levels = np.floor_divide(spectra[start : start + size], 200)
        yield torch.tensor(levels, dtype=torch.float32), torch.tensor(speaker[start : start + size])


voice = Voice()
optimizer = torch.optim.SGD(voice.parameters(), lr=0.1, momentum=0.9)
for epoch in range(3):
    for frames, who in batches(32):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(voice(frames), who)  # expect: AD704
        loss.backward()
        optimizer.step()
