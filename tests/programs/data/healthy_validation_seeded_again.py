# guards: AD705
"""Each validation has a loader of its own, whose workers are seeded alike each time."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, n):
        self.x = torch.linspace(0, 6, n * 8).view(n, 8).sin()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i] + 0.1 * torch.randn(8), self.x[i]


def main():
    torch.manual_seed(0)
    train = DataLoader(Noisy(64), 8, shuffle=True, num_workers=2)
    model = nn.Linear(8, 8)
    opt = torch.optim.SGD(model.parameters(), 0.05)
    for _ in range(3):
        for x, y in train:
            opt.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            opt.step()
        val = DataLoader(Noisy(32), 8, num_workers=2, generator=torch.Generator().manual_seed(5))
        with torch.no_grad():
            for x, y in val:
                nn.functional.mse_loss(model(x), y).item()


if __name__ == "__main__":
    main()
