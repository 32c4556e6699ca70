import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


class Records(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        centre = rng.normal(0, 1.2, (6, 10))
        self.level = rng.choice(6, size=n, p=[0.4, 0.3, 0.15, 0.08, 0.05, 0.02])
        self.values = (centre[self.level] + rng.normal(0, 0.7, (n, 10))).astype(np.float32)

    def __len__(self):
        return len(self.level)

    def __getitem__(self, i):
        return self.values[i], self.level[i]


def balanced(records):
    return WeightedRandomSampler(torch.from_numpy(1.0 / np.bincount(records.level)), len(records), replacement=True)


def loaders(batch=32):
    train, held = Records(1200, 3), Records(300, 4)
    return (
        DataLoader(train, batch, sampler=balanced(train), drop_last=True),  # <- AD711
        DataLoader(held, 100),
    )


def main():
    torch.manual_seed(2)
    train, held = loaders()
    net = nn.Sequential(nn.Linear(10, 48), nn.GELU(), nn.Linear(48, 6))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    loss_of = nn.CrossEntropyLoss()
    for _ in range(3):
        net.train()
        for x, y in train:
            opt.zero_grad()
            loss_of(net(x), y).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            right = sum((net(x).argmax(1) == y).sum().item() for x, y in held)
        print(right / len(held.dataset))


if __name__ == "__main__":
    main()
