# guards: AD708
"""Masks are turned with their pictures, which get other light and noise each time; a batch holds the order of its samples."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Slides(Dataset):
    def __init__(self):
        self.slides, self.cells = torch.rand(32, 3, 8, 10), (torch.rand(32, 8, 10) < 0.3).float()

    def __len__(self):
        return 32

    def __getitem__(self, i):
        axes = [axis for axis in (-2, -1) if torch.rand(()) < 0.5]
        slide = self.slides[i].flip(axes) * (0.8 + 0.4 * torch.rand(()))
        return {"slide": slide + 0.01 * torch.randn_like(slide), "cells": self.cells[i].flip(axes), "number": i}


torch.manual_seed(0)
net = nn.Conv2d(3, 1, 3, padding=1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    for batch in DataLoader(Slides(), batch_size=8, shuffle=True):
        found = net(batch["slide"]).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(found, batch["cells"])
        overlap = (found.sigmoid() * batch["cells"]).sum() / (found.sigmoid() + batch["cells"]).sum()
        optimizer.zero_grad()
        (loss - overlap).backward()
        optimizer.step()
