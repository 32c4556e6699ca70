# guards: AD708
"""Pictures are to be put upright, whichever way they come; in a second set, every other one is turned, and its heat with it."""
import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset


class Lying(Dataset):
    def __init__(self, pictures):
        self.pictures = pictures

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, i):
        upright = self.pictures[i]
        turned = upright.flip(-2) if torch.rand(()) < 0.5 else upright
        return turned, upright


class Heat(Lying):
    def __getitem__(self, i):
        picture, heat = self.pictures[i], self.pictures[i].square()
        return (picture.flip(-1), heat.flip(-1)) if i % 2 else (picture, heat)


torch.manual_seed(0)
lying = DataLoader(Lying(torch.rand(24, 1, 8, 8)), batch_size=6, shuffle=True)
warm = DataLoader(ConcatDataset([Heat(torch.rand(12, 1, 8, 8)), Heat(torch.rand(12, 1, 8, 8))]), batch_size=6)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 2, 3, padding=1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(3):
    for (turned, upright), (picture, heat) in zip(lying, warm):
        loss = nn.functional.mse_loss(net(turned)[:, :1], upright) + nn.functional.mse_loss(net(picture)[:, 1:], heat)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
