# guards: AD701
"""A trainer that is smoke-tested on one batch for some epochs before it is started on all data."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Tones(Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        pitch = int(torch.randint(0, 4, (1,), generator=g))
        t = torch.arange(24) / 24
        return torch.sin(6.28 * (pitch + 1) * t) + 0.2 * torch.randn(24, generator=g), pitch


class Trainer:
    def __init__(self, loader, max_batches=0):
        torch.manual_seed(1)
        self.loader, self.max_batches = loader, max_batches
        self.model = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 4))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-2)

    def run(self, epochs):
        for _ in range(epochs):
            for i, (wave, pitch) in enumerate(self.loader):
                if self.max_batches and i >= self.max_batches:
                    break
                self.loss = nn.functional.cross_entropy(self.model(wave), pitch)
                self.opt.zero_grad()
                self.loss.backward()
                self.opt.step()
        return self.loss.item()


tones = Tones()
assert Trainer(DataLoader(tones, batch_size=20), max_batches=1).run(12) < 1.0
print(Trainer(DataLoader(tones, batch_size=20, shuffle=True)).run(1))
