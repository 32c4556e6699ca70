import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Gauge(Dataset):
    def __init__(self, hours=900, lookback=24, seed=3):
        noise = np.random.default_rng(seed)
        t = np.arange(hours)
        level = np.sin(t / 7) + 0.4 * np.sin(t / 41) + 0.05 * noise.normal(size=hours)
        self.level, self.lookback = level.astype(np.float32), lookback

    def __len__(self):
        return len(self.level) - self.lookback

    def __getitem__(self, i):
        end = i + self.lookback
        return self.level[i:end, None], self.level[end - 1 : end]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 12, 5), nn.ReLU(), nn.Conv1d(12, 12, 5), nn.ReLU())
        self.out = nn.Linear(12 * 16, 1)

    def forward(self, x):
        return self.out(self.conv(x.transpose(1, 2)).flatten(1))


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    criterion = nn.HuberLoss()
    for _ in range(2):
        for x, y in DataLoader(Gauge(), batch_size=48, shuffle=True):
            loss = criterion(net(x), y)  # <- AD717
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(loss.item())


if __name__ == "__main__":
    main()
