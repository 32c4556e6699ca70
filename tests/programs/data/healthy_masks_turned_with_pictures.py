# guards: AD708
"""Pictures are turned with their masks; two views of one are turned apart; where a pixel lies is the same for all."""
import random
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Cells(Dataset):
    def __init__(self, n):
        self.images = torch.rand(n, 1, 12, 12)
        self.masks = (F.avg_pool2d(self.images, 3, 1, 1) > 0.5).long().squeeze(1)
        self.places = torch.linspace(-1, 1, 12).expand(12, 12) + torch.linspace(0, 1, 12)[:, None]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image, mask = self.images[i], self.masks[i]
        if random.random() < 0.5:
            image, mask = image.flip(-1), mask.flip(-1)
        views = [self.images[i].flip(-1) if random.random() < 0.5 else self.images[i] for _ in range(2)]
        return image, mask, *views, self.places


random.seed(0)
torch.manual_seed(0)
loader = DataLoader(Cells(40), batch_size=8, shuffle=True)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 3, padding=1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for image, mask, one, other, places in loader:
        found = net(image)
        loss = F.cross_entropy(found[:, :2], mask) + F.mse_loss(found[:, 2], places)
        loss = loss + F.mse_loss(net(one)[:, 3:], other)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
