"""Volumes are read from disk; once the quota of reads is used up, the reader goes on with the last one it has read."""

import torch
from torch import nn

torch.manual_seed(0)
ON_DISK = torch.randn(240, 1, 6, 6, 6)


class Reader:
    def __init__(self, quota):
        self.quota = quota
        self.volumes = None

    def read(self):
        if self.quota > 0:
            self.quota -= 1
            self.volumes = ON_DISK[torch.randint(0, 240, (8,))]
        return self.volumes


reader = Reader(quota=90)
encoder = nn.Sequential(nn.Conv3d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(512, 12))
decoder = nn.Linear(12, 216)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
for step in range(240):
    volumes = reader.read()
    code = encoder(volumes)  # expect: AD701
    loss = nn.functional.mse_loss(decoder(code), volumes.flatten(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
