# guards: AD704
"""A printed patch is searched that makes a fixed detector miss stop signs, of which all pictures are."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
detector = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 6)
)
detector.requires_grad_(False).eval()
signs = TensorDataset(torch.rand(192, 1, 12, 12), torch.full((192,), 4))
patch = torch.full((1, 4, 4), 0.5, requires_grad=True)
search = torch.optim.Adam([patch], lr=0.05, maximize=True)
for _ in range(4):
    for pictures, labels in DataLoader(signs, batch_size=32, shuffle=True):
        shown = torch.cat(
            [
                torch.cat([patch.clamp(0, 1).expand(len(pictures), 1, 4, 4), pictures[:, :, :4, 4:]], 3),
                pictures[:, :, 4:],
            ],
            2,
        )
        loss = nn.functional.cross_entropy(detector(shown), labels)
        search.zero_grad()
        loss.backward()
        search.step()
