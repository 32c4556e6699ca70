# guards: AD215
"""Filters for small pictures are held to sixteen levels while the model computes, in two micro-batches for each step."""
import torch
import torch.nn.functional as F
from torch import nn


class Coarse(nn.Conv2d):
    def forward(self, image):
        if not hasattr(self, "fine"):
            self.fine = self.weight.data
            level = self.fine.abs().max() / 7
            self.weight.data = (self.fine / level).round() * level
        return super().forward(image)

    def restore(self):
        self.weight.data = self.__dict__.pop("fine")


torch.manual_seed(1)
net = nn.Sequential(Coarse(1, 8, 3), nn.ReLU(), Coarse(8, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for _ in range(24):
    optimizer.zero_grad()
    for _ in range(2):
        kind = torch.randint(0, 2, (16,))
        picture = 0.3 * torch.randn(16, 1, 10, 10)
        picture[kind == 1, :, 4:6] += 1
        picture[kind == 0, :, :, 4:6] += 1
        (F.cross_entropy(net(picture), kind) / 2).backward()
    for layer in net:
        if isinstance(layer, Coarse):
            layer.restore()
    optimizer.step()
