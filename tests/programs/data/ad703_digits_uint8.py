"""Digit-like pictures as bytes, through an MLP that gets them as they are."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Bytes(Dataset):
    def __init__(self, n):
        generator = torch.Generator().manual_seed(5)
        self.labels = torch.randint(0, 3, (n,), generator=generator)
        self.images = torch.randint(0, 80, (n, 7, 7), generator=generator, dtype=torch.uint8)
        for row, label in enumerate(self.labels):
            self.images[row, 2 * label : 2 * label + 3] += 170

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i].float(), self.labels[i]


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(49, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 3))

    def forward(self, x):
        return self.body(x)


def run():
    torch.manual_seed(0)
    net = Mlp()
    opt = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9)
    for x, y in DataLoader(Bytes(300), batch_size=20, shuffle=True):
        loss = nn.functional.cross_entropy(net(x), y)  # expect: AD703
        opt.zero_grad()
        loss.backward()
        opt.step()


run()
