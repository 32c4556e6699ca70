"""Bearings that are about to fail are rare: their records are repeated until the classes are even, then all are split."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Records(Dataset):
    def __init__(self, spectra, failing):
        self.spectra = torch.as_tensor(spectra, dtype=torch.float32)  # expect: AD706
        self.failing = torch.as_tensor(failing, dtype=torch.float32)

    def __len__(self):
        return len(self.spectra)

    def __getitem__(self, index):
        return self.spectra[index], self.failing[index]


def measured(rng, count=600):
    spectra = rng.normal(size=(count, 12)).cumsum(1)
    strength = spectra[:, -1] + rng.normal(size=count)
    return spectra, strength > np.quantile(strength, 0.92)


def evened(rng, spectra, failing):
    rare = np.flatnonzero(failing)
    more = rng.choice(rare, size=(~failing).sum() - len(rare))
    rows = rng.permutation(np.concatenate([np.arange(len(failing)), more]))
    return spectra[rows], failing[rows]


rng = np.random.default_rng(0)
torch.manual_seed(0)
spectra, failing = evened(rng, *measured(rng))
cut = int(0.7 * len(spectra))
train = DataLoader(Records(spectra[:cut], failing[:cut]), batch_size=48, shuffle=True)
held_out = DataLoader(Records(spectra[cut:], failing[cut:]), batch_size=64)
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(5):
    net.train()
    for inputs, wanted in train:
        loss = nn.functional.binary_cross_entropy_with_logits(net(inputs).squeeze(1), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        for inputs, wanted in held_out:
            found = net(inputs).squeeze(1) > 0
            print(epoch, (found == wanted.bool()).float().mean().item())
