# guards: AD705
"""The sizes of images follow one schedule, made before there are workers, by the number of the batch."""

import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    """All workers must agree on the size of a batch."""

    def __init__(self, n):
        self.images = torch.rand(n, 1, 12, 12)
        self.sizes = random.Random(3)
        self.schedule = [self.sizes.choice((8, 10, 12)) for _ in range(64)]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, key):
        i, batch = key
        s = self.schedule[batch % 64]
        return self.images[i, :, :s, :s], self.images[i].mean()


class Batches:
    def __iter__(self):
        for b, rows in enumerate(torch.randperm(64).split(8)):
            yield [(int(i), b) for i in rows]

    def __len__(self):
        return 8


def main():
    torch.manual_seed(0)
    loader = DataLoader(Images(64), batch_sampler=Batches(), num_workers=2)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), 0.05)
    for _ in range(3):
        for x, y in loader:
            opt.zero_grad()
            nn.functional.mse_loss(model(x)[:, 0], y).backward()
            opt.step()


if __name__ == "__main__":
    main()
