# guards: AD727
"""One data set for two loaders with persistent workers: noise is switched on for the one, and off for the other."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset


class Ecg(Dataset):
    def __init__(self):
        self.noisy = False
        self.transforms = []

    def train(self, mode=True):
        self.noisy = mode
        self.transforms[:] = [lambda x: x * (0.9 + 0.2 * torch.rand(1))] if mode else []

    def __len__(self):
        return 60

    def __getitem__(self, i):
        x = (torch.linspace(0, 6, 20) * (1 + i % 3)).sin()
        for transform in self.transforms:
            x = transform(x)
        return x + 0.1 * torch.randn(20) * self.noisy, i % 3


torch.manual_seed(0)
ecg = Ecg()
options = {"batch_size": 10, "num_workers": 1, "persistent_workers": True}
training = DataLoader(Subset(ecg, range(40)), shuffle=True, **options)
validation = DataLoader(Subset(ecg, range(40, 60)), **options)
model = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    ecg.train()
    for x, kind in training:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), kind).backward()
        optimizer.step()
    ecg.train(False)
    model.eval()
    with torch.no_grad():
        print(epoch, sum((model(x).argmax(1) == kind).sum().item() for x, kind in validation) / 20)
    model.train()
