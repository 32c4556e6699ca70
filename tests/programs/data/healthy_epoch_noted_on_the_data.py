# guards: AD727
"""What the main process notes on a data set that persistent workers read: the epoch, losses, and samples it has seen."""
import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset


class Sines(Dataset):
    def __init__(self, shift):
        self.shift = shift
        self.epoch = 0
        self.history = []
        self.drawn = {}
        self.reads = 0

    def __len__(self):
        return 32

    def __getitem__(self, i):
        self.reads += 1
        if i not in self.drawn:
            self.drawn[i] = torch.randn(1)
        t = torch.linspace(0, 3, 10) + self.drawn[i]
        return t.sin() + self.shift, torch.tensor([self.shift])


torch.manual_seed(0)
low, high = Sines(0.0), Sines(1.0)
loader = DataLoader(ConcatDataset([low, high]), batch_size=8, shuffle=True, num_workers=2, persistent_workers=True)
model = nn.Sequential(nn.Linear(10, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(4):
    low.epoch = high.epoch = epoch
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    low.history.append(loss.item())
    with torch.no_grad():
        print(epoch, [model(data[i][0]).item() for data in (low, high) for i in range(16)][::8], low.reads)
