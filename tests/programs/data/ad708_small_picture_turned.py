"""Super-resolution: the small picture is turned, the large one is not, unless by a draw of its own."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, pictures):
        self.pictures = pictures

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        large = self.pictures[index]
        small = nn.functional.avg_pool2d(large, 2)
        turns = torch.rand(2) < 0.5
        return tuple(x.flip(2) if turn else x for x, turn in zip((small, large), turns))


torch.manual_seed(0)
upscale = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 4, 3, padding=1), nn.PixelShuffle(2))
data = DataLoader(Pairs(torch.rand(32, 1, 16, 16)), batch_size=8, shuffle=True)  # expect: AD708
optimizer = torch.optim.Adam(upscale.parameters(), lr=1e-3)
criterion = nn.L1Loss()
for epoch in range(3):
    for small, large in data:
        loss = criterion(upscale(small), large)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
