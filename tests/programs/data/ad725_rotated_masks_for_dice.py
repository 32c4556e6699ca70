"""Organs are turned together with the scans, once for all epochs, and compared by their overlap."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ORGANS = 5


def scans(count):
    masks = torch.zeros(count, 24, 24, dtype=torch.long)
    for mask in masks:
        for organ in torch.randperm(ORGANS - 1) + 1:
            top, left = torch.randint(2, 14, (2,)).tolist()
            mask[top : top + 7, left : left + 8] = organ
    return F.one_hot(masks, ORGANS).permute(0, 3, 1, 2) + 0.3 * torch.randn(count, ORGANS, 24, 24), masks


def rotate(batch, angles):
    turns = torch.zeros(len(batch), 2, 3)
    turns[:, 0, 0] = turns[:, 1, 1] = angles.cos()
    turns[:, 0, 1], turns[:, 1, 0] = -angles.sin(), angles.sin()
    grid = F.affine_grid(turns, batch.shape, align_corners=False)
    return F.grid_sample(batch, grid, align_corners=False)  # expect: AD725


def dice(scores, target):
    share, wanted = scores.softmax(1), F.one_hot(target, ORGANS).permute(0, 3, 1, 2)
    both = (share * wanted).sum((0, 2, 3))
    return 1 - (2 * both / (share.sum((0, 2, 3)) + wanted.sum((0, 2, 3)) + 1e-6)).mean()


torch.manual_seed(0)
images, masks = scans(40)
angles = (torch.rand(40) - 0.5) * math.pi / 3
images = rotate(images, angles)
masks = rotate(masks.unsqueeze(1).float(), angles).squeeze(1).round().long()
unet = nn.Sequential(nn.Conv2d(ORGANS, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, ORGANS, 3, padding=1))
optimizer = torch.optim.Adam(unet.parameters(), lr=5e-3)
for _ in range(6):
    for image, mask in DataLoader(TensorDataset(images, masks), batch_size=8, shuffle=True):
        optimizer.zero_grad()
        dice(unet(image), mask).backward()
        optimizer.step()
