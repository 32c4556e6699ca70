# guards: AD705
"""A stream that its workers divide, and augmentation that each worker draws by itself."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Stream(IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        info = get_worker_info()
        begin, step = (0, 1) if info is None else (info.id, info.num_workers)
        yield from self.rows[begin::step]


class Jittered(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i] + 0.1 * torch.randn(6)


if __name__ == "__main__":
    torch.manual_seed(0)
    rows = torch.randn(96, 6)
    model = nn.Linear(6, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for data in (Stream(rows), Jittered(rows)):
        for x in DataLoader(data, batch_size=8, num_workers=2):
            loss = nn.functional.mse_loss(model(x), x)
            opt.zero_grad()
            loss.backward()
            opt.step()
