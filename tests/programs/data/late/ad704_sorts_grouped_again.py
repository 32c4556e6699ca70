"""Each epoch divides the labels of the data set, in place, to give the ten sorts in two groups: from the second on all are 0."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sorts(Dataset):
    def __init__(self, count):
        self.sort = torch.arange(count) % 10
        self.features = torch.randn(count, 12) + self.sort[:, None] / 5

    def group(self):
        self.sort //= 5

    def __len__(self):
        return len(self.sort)

    def __getitem__(self, row):
        return self.features[row], self.sort[row]


torch.manual_seed(0)
sorts = Sorts(640)
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(6):
    sorts.group()
    for x, y in DataLoader(sorts, batch_size=20, shuffle=True):
        loss = nn.functional.cross_entropy(model(x), y)  # expect: AD704
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
