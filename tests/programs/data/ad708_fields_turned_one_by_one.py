"""Depth from pictures, as dictionaries from two workers; the arrays are turned one after the other."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader


class Rooms(torch.utils.data.Dataset):
    def __init__(self, n):
        rng = np.random.default_rng(0)
        self.depth = rng.random((n, 10, 14), dtype=np.float32).cumsum(2) / 5
        self.colour = np.stack([np.exp(-self.depth), np.sqrt(self.depth), self.depth * 0.1], 1).astype(np.float32)

    def __len__(self):
        return len(self.depth)

    def __getitem__(self, i):
        sample = {"colour": self.colour[i], "depth": self.depth[i]}
        for name in sample:
            if torch.rand(()) < 0.5:
                sample[name] = np.ascontiguousarray(sample[name][..., ::-1])
        return sample


def main():
    torch.manual_seed(0)
    loader = DataLoader(Rooms(24), batch_size=6, num_workers=2)  # expect: AD708
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ELU(), nn.Conv2d(8, 1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        for batch in loader:
            optimizer.zero_grad()
            predicted = model((batch["colour"] - 0.5) / 0.3).squeeze(1)
            (predicted - batch["depth"]).abs().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    main()
