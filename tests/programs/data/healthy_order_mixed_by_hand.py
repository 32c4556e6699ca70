# guards: AD727
"""A data set that mixes its own order after each epoch, as those of Keras do, and a loader that shuffles as well."""
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sequence(Dataset):
    def __init__(self, names):
        self.names = names
        self.indexes = np.arange(len(names))

    def on_epoch_end(self):
        self.indexes = np.random.permutation(len(self.names))
        random.shuffle(self.names)

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        length, kind = self.names[self.indexes[i]]
        return torch.full((6,), float(length)) / 40, kind


def main():
    np.random.seed(0)
    torch.manual_seed(0)
    data = Sequence([(n, n % 2) for n in range(40)])
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=2, persistent_workers=True)
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(4):
        for x, kind in loader:
            loss = nn.functional.cross_entropy(net(x), kind)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        data.on_epoch_end()


main()
