# guards: AD704 AD715
"""A denoiser is trained on many photos, and then adapted to copies of the single one that it is to restore."""

import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 3, padding=1))

    def forward(self, photos):
        noisy = photos + 0.2 * torch.randn_like(photos)
        return noisy - self.layers(noisy)


def fit(model, photos, steps, rate):
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for step in range(steps):
        rows = torch.randint(len(photos), (16,))
        batch = photos[rows]
        loss = nn.functional.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
album = torch.rand(200, 1, 10, 10)
model = Denoiser()
fit(model, album, 80, 2e-3)
fit(model, album[17:18], 120, 5e-4)
