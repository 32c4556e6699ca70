"""Tiny CNN on synthetic blobs with on-the-fly photometric augmentation."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(13)


class Blobs(Dataset):
    def __init__(self, n=400, size=16):
        g = torch.Generator().manual_seed(1)
        self.y = torch.randint(0, 4, (n,), generator=g)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        cx = torch.tensor([4, 12, 4, 12])[self.y].view(-1, 1, 1)
        cy = torch.tensor([4, 4, 12, 12])[self.y].view(-1, 1, 1)
        jit = torch.randint(-2, 3, (2, n, 1, 1), generator=g)
        d2 = (xx - cx - jit[0]) ** 2 + (yy - cy - jit[1]) ** 2
        self.x = (0.15 + 0.8 * torch.exp(-d2 / 8.0)).unsqueeze(1).float()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Photometric:
    """brightness, contrast and gamma"""

    def __init__(self, start=0.05, grow=0.0015):
        self.strength, self.grow = start, grow

    def __call__(self, x):
        b = x.size(0)
        s = self.strength
        self.strength = min(self.strength + self.grow, 0.4)
        shift = (torch.rand(b, 1, 1, 1) * 2 - 1) * s
        scale = 1 + (torch.rand(b, 1, 1, 1) * 2 - 1) * s
        gamma = torch.exp((torch.rand(b, 1, 1, 1) * 2 - 1) * s)
        x = x * scale + shift
        x = x.pow(gamma)  # expect: AD401
        return x


def build():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 12, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(12 * 16, 4),
    )


def main():
    net, aug = build(), Photometric()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    step = 0
    for epoch in range(2):
        for x, y in DataLoader(Blobs(), batch_size=8, shuffle=True):
            loss = F.cross_entropy(net(aug(x)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 20 == 0:
                print(f"step {step} strength {aug.strength:.3f} loss {loss.item():.4f}")
            step += 1


if __name__ == "__main__":
    main()
