# guards: AD608 AD638
# hinted: AD608
"""Congealing: a stack of scans of the same part, each lying differently, is aligned with itself.

There is no template. A localisation network gives each scan a rotation and a shift; the poses of a batch are
centred, so the stack as a whole stays where it is, and the scans are made alike by moving them only.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SIDE = 24


def part() -> Tensor:
    y, x = torch.meshgrid(torch.linspace(-1, 1, SIDE), torch.linspace(-1, 1, SIDE), indexing="ij")
    shape = ((x.abs() < 0.42) & (y.abs() < 0.16)).float() + ((x + 0.3).square() + (y - 0.25).square() < 0.05).float()
    return F.avg_pool2d(shape.clamp(max=1)[None, None], 3, 1, 1)


def affine(angle: Tensor, shift: Tensor) -> Tensor:
    c, s = angle.cos(), angle.sin()
    return torch.stack([torch.stack([c, -s, shift[:, 0]], 1), torch.stack([s, c, shift[:, 1]], 1)], 1)


def warp(images: Tensor, angle: Tensor, shift: Tensor) -> Tensor:
    grid = F.affine_grid(affine(angle, shift), list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


def scans(n: int) -> Tensor:
    moved = warp(part().expand(n, -1, -1, -1), 0.5 * (2 * torch.rand(n) - 1), 0.3 * (2 * torch.rand(n, 2) - 1))
    return moved + 0.02 * torch.randn_like(moved)


class Localiser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(12, 24, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(24 * 36, 48),
            nn.ReLU(),
        )
        self.pose = nn.Linear(48, 3)
        nn.init.zeros_(self.pose.weight)
        nn.init.zeros_(self.pose.bias)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        pose = self.pose(self.features(images))
        pose = pose - pose.mean(0)
        return pose[:, 0], pose[:, 1:]


def disagreement(stack: Tensor) -> Tensor:
    return (stack - stack.mean(0)).square().mean()


if __name__ == "__main__":
    torch.manual_seed(4)
    train, held_out = scans(512), scans(128)
    model = Localiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    print(f"before: {disagreement(held_out).item():.5f}")
    for epoch in range(12):
        for rows in torch.randperm(len(train)).split(64):
            images = train[rows]
            smooth = F.avg_pool2d(images, 5, 1, 2) if epoch < 4 else images  # coarse to fine
            loss = disagreement(warp(smooth, *model(images)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 3 == 2:
            with torch.no_grad():
                value = disagreement(warp(held_out, *model(held_out))).item()
            print(f"epoch {epoch + 1:2d}: {value:.5f}")
