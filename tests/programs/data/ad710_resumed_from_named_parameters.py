"""A run that is cut in two: what the first half learned is written to a file and read by the second."""
import io

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(8)
        self.down = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.norm2 = nn.BatchNorm2d(16)
        self.out = nn.Linear(16, 3)

    def forward(self, x):
        x = F.relu(self.norm1(self.stem(x)))
        x = F.relu(self.norm2(self.down(x)))
        return self.out(x.mean((2, 3)))


def batch(n=24):
    y = torch.randint(0, 3, (n,))
    x = 2 + 0.5 * torch.randn(n, 1, 8, 8)
    for i, k in enumerate(y.tolist()):
        x[i, 0, :, 2 * k : 2 * k + 3] += 1.5
    return x, y


def train(net, steps):
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    net.train()
    for _ in range(steps):
        x, y = batch()
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


@torch.no_grad()
def accuracy(net):
    net.eval()
    x, y = batch(120)
    return (net(x).argmax(1) == y).float().mean().item()


def first_half(file):
    net = Net()
    print("first", train(net, 40), accuracy(net))
    torch.save({name: p.detach() for name, p in net.named_parameters()}, file)


def second_half(file):
    net = Net()
    print(net.load_state_dict(torch.load(file), strict=False))  # expect: AD710
    print("resumed at", accuracy(net))
    print("second", train(net, 20), accuracy(net))


torch.manual_seed(0)
disk = io.BytesIO()
first_half(disk)
disk.seek(0)
second_half(disk)
