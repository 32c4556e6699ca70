"""Speech is mixed with noise by a transform that keeps a generator of its own; each worker has a copy of the transform."""

import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class AddNoise:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def level(self):
        return self.random.uniform(0.0, 0.3)

    def __call__(self, wave):
        return wave + self.level() * torch.randn_like(wave)


class Speech(Dataset):
    def __init__(self, transform):
        self.waves = torch.randn(160, 64)
        self.transform = transform

    def __len__(self):
        return len(self.waves)

    def __getitem__(self, index):
        wave = self.waves[index]
        return self.transform(wave), wave.abs().mean()


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(Speech(AddNoise(7)), batch_size=20, shuffle=True, num_workers=2)  # expect: AD705
    net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(2):
        for noisy, loudness in loader:
            loss = nn.functional.mse_loss(net(noisy).squeeze(1), loudness)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
