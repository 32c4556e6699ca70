# guards: AD721
"""A state of wear from four sensors, scaled where they are read. Scored on the own plant, on one that runs hotter, with
a contrast that is raised more and more, and through a wrapper that takes the scaling back before it scales."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CENTRE, UNIT = torch.tensor([2.0, 2.5, 1.0, 3.0]), torch.tensor([0.5, 0.4, 0.6, 0.8])


def scale(x):
    return (x - CENTRE) / UNIT


def harden(x, times):
    for _ in range(times):
        x = x * 1.8 + 0.2
    return x


class Plant(Dataset):
    def __init__(self, rows, seed, hotter=0.0, jitter=False):
        g = torch.Generator().manual_seed(seed)
        self.x = CENTRE + hotter + UNIT * torch.randn(rows, 4, generator=g)
        self.y = (self.x[:, 0] > 2.0).long()
        self.jitter = jitter

    def __len__(self):
        return len(self.y)

    def __getitem__(self, row):
        x = scale(self.x[row])
        return (harden(x, 1) if self.jitter and row % 2 else x), self.y[row]


def hits(model, loader, prepare=lambda x: x):
    model.eval()
    with torch.no_grad():
        found = [(model(prepare(x)).argmax(1) == y).float().mean() for x, y in loader]
    model.train()
    return torch.stack(found).mean().item()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
train = DataLoader(Plant(320, 1, jitter=True), batch_size=20, shuffle=True)
own, hot = DataLoader(Plant(90, 2), batch_size=30), DataLoader(Plant(90, 3, hotter=1.5), batch_size=30)
for epoch in range(2):
    for x, y in train:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, hits(model, own), hits(model, hot))
    print([hits(model, own, lambda x: harden(x, times)) for times in (1, 2, 3)])
    print(hits(model, own, lambda x: scale(x * UNIT + CENTRE)))
