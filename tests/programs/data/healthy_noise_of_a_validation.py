# guards: AD705
"""What is validated on is noisy; its noise is drawn in the workers, and is the same again in each pass."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, x, seed):
        self.x = x
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i] + 0.1 * torch.from_numpy(self.rng.standard_normal(8)).float(), self.x[i]


def main():
    torch.manual_seed(0)
    data = torch.linspace(0, 6, 96 * 8).view(96, 8).sin()
    train = DataLoader(torch.utils.data.TensorDataset(data[:64] + 0.1 * torch.randn(64, 8), data[:64]), 8, shuffle=True)
    val = DataLoader(Noisy(data[64:], 1), 8, num_workers=2)
    model = nn.Linear(8, 8)
    opt = torch.optim.SGD(model.parameters(), 0.05)
    for _ in range(3):
        for x, y in train:
            opt.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            opt.step()
        with torch.no_grad():
            for x, y in val:
                nn.functional.mse_loss(model(x), y).item()


if __name__ == "__main__":
    main()
