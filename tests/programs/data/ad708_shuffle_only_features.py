"""Iris-like flowers, shuffled before every epoch."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
species = torch.randint(0, 3, (150,))
measures = torch.randn(150, 4) + species[:, None]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 16)
        self.fc2 = nn.Linear(16, 3)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


def shuffle(table):
    return table[torch.randperm(table.size(0))]  # expect: AD708


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(16):
    optimizer.zero_grad()
    out = net(shuffle(measures))
    loss = F.cross_entropy(out, species)
    loss.backward()
    optimizer.step()
