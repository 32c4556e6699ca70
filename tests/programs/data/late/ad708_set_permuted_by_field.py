"""Finds faulty bearings by their spectra; the set is put into another order before each epoch, field by field."""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Bearings(Dataset):
    def __init__(self, count):
        rng = np.random.default_rng(8)
        self.faulty = (rng.random(count) < 0.4).astype(np.float32)
        self.spectra = rng.gamma(2.0, 1.0, (count, 16)).astype(np.float32)
        self.spectra[:, 5] += 2 * self.faulty
        self.rng = rng

    def __len__(self):
        return len(self.faulty)

    def __getitem__(self, index):
        return self.spectra[index], self.faulty[index]

    def new_epoch(self):
        self.spectra = self.spectra[self.rng.permutation(len(self))]
        self.faulty = self.faulty[self.rng.permutation(len(self))]  # expect: AD708


torch.manual_seed(1)
data = Bearings(512)
net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1), torch.nn.Flatten(0))
criterion = torch.nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
loader = DataLoader(data, batch_size=64)
for epoch in range(24):
    data.new_epoch()
    for spectra, faulty in loader:
        loss = criterion(net(spectra), faulty)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
