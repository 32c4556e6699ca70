"""Hashing: the codes are soft while the network warms up, and then compared with zero."""

import torch
import torch.nn.functional as F
from torch import nn


class Hasher(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
        self.code = nn.Linear(32, 10)
        self.classes = nn.Linear(10, 4)
        self.binary = False

    def forward(self, x):
        code = self.code(self.features(x))
        if self.binary:
            code = (code > 0).float()  # expect: AD202
        else:
            code = torch.sigmoid(2 * code)
        return self.classes(code)


torch.manual_seed(7)
x = torch.randn(384, 12)
y = (x[:, :2] > 0).long() @ torch.tensor([1, 2])
model = Hasher()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(20):
    model.binary = epoch >= 7
    for rows in torch.randperm(384).split(32):
        loss = F.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
