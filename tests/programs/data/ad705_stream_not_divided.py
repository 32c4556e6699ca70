"""Windows of a long recording, streamed by two workers."""

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Recording(IterableDataset):
    def __init__(self, length=400, window=10):
        time = torch.arange(length)
        self.signal = torch.sin(time / 7) + 0.1 * torch.randn(length, generator=torch.Generator().manual_seed(1))
        self.window = window

    def __iter__(self):
        for start in range(0, len(self.signal) - self.window, 3):
            piece = self.signal[start : start + self.window + 1]
            yield piece[:-1], piece[-1]


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 1), nn.Flatten(0))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    loader = DataLoader(Recording(), batch_size=8, num_workers=2)  # expect: AD705
    for past, following in loader:
        loss = nn.functional.mse_loss(model(past), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
