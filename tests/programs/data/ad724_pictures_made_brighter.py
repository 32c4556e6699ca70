"""A data set makes its pictures brighter while they are bytes: what is light becomes dark."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self, count: int) -> None:
        generator = torch.Generator().manual_seed(1)
        self.raw = torch.randint(0, 256, (count, 1, 5, 5), dtype=torch.uint8, generator=generator)
        self.labels = (self.raw[:, 0, 2, 2] > 127).long()

    def __len__(self) -> int:
        return len(self.raw)

    def __getitem__(self, index: int):
        picture = self.raw[index].clone()
        picture += 60  # expect: AD724
        return picture.float().div(255), self.labels[index]


torch.manual_seed(0)
loader = DataLoader(Pictures(96), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Flatten(), nn.Linear(25, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(6):
    for pictures, labels in loader:
        loss = nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
