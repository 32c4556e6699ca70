# guards: AD727
"""Levels that the main process raises and that persistent workers see: a tensor, and an array below NumPy."""
import multiprocessing

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Spectra(Dataset):
    def __init__(self):
        self.level = torch.zeros(1).share_memory_()
        self.weights = np.frombuffer(multiprocessing.RawArray("f", 16), dtype=np.float32)

    def raise_to(self, level):
        self.level.fill_(level)
        self.weights[:] = 1 + level

    def __len__(self):
        return 48

    def __getitem__(self, i):
        x = torch.linspace(0, 1 + i % 5, 16).cos()
        return (x + self.level * torch.randn(16)) * torch.from_numpy(self.weights), x.mean()


if __name__ == "__main__":
    torch.manual_seed(0)
    spectra = Spectra()
    loader = DataLoader(spectra, batch_size=8, shuffle=True, num_workers=1, persistent_workers=True)
    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(4):
        spectra.raise_to(0.1 * epoch)
        for x, mean in loader:
            loss = nn.functional.mse_loss(model(x).squeeze(1), mean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
