# guards: AD608
"""Residual blocks whose branch is dropped for single images, always on: the ensemble over draws is what is wanted."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, survival):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
        self.survival = survival

    def forward(self, x):
        alive = torch.empty(x.shape[0], 1).bernoulli_(self.survival)
        return x + alive * self.body(x) / self.survival


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Flatten(), nn.Linear(64, 24))
        self.blocks = nn.Sequential(Block(24, 0.95), Block(24, 0.9))
        self.head = nn.Linear(24, 3)

    def forward(self, images):
        return self.head(self.blocks(self.stem(images)))


torch.manual_seed(4)
net = Net()
sgd = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
prototypes = torch.randn(3, 1, 8, 8)
for it in range(40):
    labels = torch.randint(0, 3, (24,))
    images = prototypes[labels] + 0.5 * torch.randn(24, 1, 8, 8)
    loss = nn.functional.cross_entropy(net(images), labels)
    sgd.zero_grad()
    loss.backward()
    sgd.step()
print(f"{loss.item():.3f}")
