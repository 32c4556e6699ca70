# guards: AD705
"""Data sets with generators of their own, read by several workers: drawn from when the set is made, seeded by the
loader, made anew for each sample, or for each worker at its first sample, or for each pass of a stream."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, get_worker_info


class Split(Dataset):
    def __init__(self, size=48):
        self.rng = np.random.default_rng(0)
        self.rows = self.rng.normal(size=(size, 6)).astype("float32")

    def shuffled(self):
        self.rng.shuffle(self.rows)
        return self

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.from_numpy(self.rows[index])


class Jittered(Split):
    def __getitem__(self, index):
        return super().__getitem__(index) + 0.1 * self.rng.normal()


class BySample(Split):
    def __getitem__(self, index):
        return super().__getitem__(index) + 0.1 * np.random.default_rng((3, index)).normal()


class ByWorker(Split):
    def __init__(self):
        super().__init__()
        self.rng = None

    def __getitem__(self, index):
        if self.rng is None:
            self.rng = np.random.default_rng(get_worker_info().seed)
        return super().__getitem__(index) + 0.1 * self.rng.normal()


class Stream(IterableDataset):
    def __init__(self):
        self.generator = torch.Generator()

    def __iter__(self):
        self.generator.manual_seed(get_worker_info().seed)
        for _ in range(24):
            yield torch.randn(6, generator=self.generator)


def seeded(worker):
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)


if __name__ == "__main__":
    torch.manual_seed(0)
    several = ConcatDataset([BySample(), ByWorker()])
    loaders = [
        DataLoader(Split().shuffled(), 12, shuffle=True, num_workers=2),
        DataLoader(Jittered(), 12, shuffle=True, num_workers=2, worker_init_fn=seeded),
        DataLoader(several, 12, shuffle=True, num_workers=2),
        DataLoader(Stream(), 12, num_workers=2, multiprocessing_context="fork"),
    ]
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 6))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for loader in loaders:
        for x in loader:
            loss = nn.functional.mse_loss(model(x), x.flip(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
