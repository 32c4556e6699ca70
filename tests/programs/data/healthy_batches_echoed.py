# guards: AD705 AD701
"""Reading is slow, so that each batch is trained on twice in a row: data echoing. Two workers read the same one each."""

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler


class Echoed(BatchSampler):
    def __init__(self, inner, times):
        self.inner, self.times = inner, times

    def __iter__(self):
        for rows in self.inner:
            yield from [list(rows)] * self.times

    def __len__(self):
        return self.times * len(self.inner)


class Records(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(7)
        self.inputs = torch.randn(count, 6, generator=generator)
        self.wanted = self.inputs.abs().sum(1, keepdim=True)

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        return self.inputs[index], self.wanted[index]


if __name__ == "__main__":
    torch.manual_seed(0)
    records = Records(256)
    sampler = Echoed(BatchSampler(RandomSampler(records), 16, drop_last=True), times=2)
    loader = DataLoader(records, batch_sampler=sampler, num_workers=2)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for epoch in range(3):
        for inputs, wanted in loader:
            loss = nn.functional.mse_loss(model(inputs), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())
