"""Segmentation of random blobs with a tiny encoder-decoder, one iteration per call of `train_one`."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Blobs(Dataset):
    def __init__(self, count=90):
        generator = torch.Generator().manual_seed(0)
        self.images = torch.rand(count, 1, 12, 12, generator=generator)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = self.images[index]
        return {"image": (image - 0.5) / 0.3, "mask": (image > 0.6).float()}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)
        self.head = nn.Conv2d(9, 1, 1)

    def forward(self, x):
        deep = F.relu(self.up(F.relu(self.down(x))))
        return self.head(torch.cat([deep, x], dim=1))


def train_one(model, optimizer, data):
    batch = next(data.__iter__())  # expect: AD701
    image, mask = batch["image"].to("cpu"), batch["mask"]
    optimizer.zero_grad()
    loss = F.binary_cross_entropy_with_logits(model(image), mask)
    loss.backward()
    optimizer.step()
    return loss.detach()


if __name__ == "__main__":
    torch.manual_seed(3)
    model = Net().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    data = DataLoader(Blobs(), batch_size=8)
    for iteration in range(24):
        loss = train_one(model, optimizer, data)
