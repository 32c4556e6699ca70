# guards: AD727
"""A size that grows: once the workers are let go with the iterator, once the loader is made anew."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return 40

    def __getitem__(self, i):
        image = torch.zeros(1, self.size, self.size)
        image[0, : self.size // (1 + i % 4)] = 1
        return image + 0.1 * torch.randn_like(image), i % 4


def epoch(model, optimizer, loader):
    for image, kind in loader:
        loss = nn.functional.cross_entropy(model(image), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    squares = Squares(8)
    squares.size = 10
    loader = DataLoader(squares, batch_size=8, shuffle=True, num_workers=1, persistent_workers=True)
    for size in (10, 12, 14):
        if size != squares.size:
            squares.size = size
            loader._iterator = None
        epoch(model, optimizer, loader)
    for size in (16, 18):
        squares.size = size
        epoch(model, optimizer, DataLoader(squares, 8, shuffle=True, num_workers=1, persistent_workers=True))
