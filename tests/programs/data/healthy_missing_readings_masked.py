# guards: AD718
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

MISSING = -9999.0


class Stations(Dataset):
    """Daily temperature anomalies of 12 stations; gaps have the code of the weather service."""

    def __init__(self, days=900):
        g = torch.Generator().manual_seed(3)
        season = torch.sin(torch.arange(days)[:, None] * 0.0172 + torch.rand(12, generator=g) * 6.28)
        self.drivers = torch.cat([season[:, :4], torch.randn(days, 6, generator=g)], dim=1)
        self.readings = season + 0.3 * self.drivers[:, 4:5] + 0.2 * torch.randn(days, 12, generator=g)
        self.readings[torch.rand(days, 12, generator=g) < 0.15] = MISSING

    def __len__(self):
        return len(self.drivers)

    def __getitem__(self, day):
        return self.drivers[day], self.readings[day]


def masked_mse(pred, target):
    valid = target != MISSING
    squared = F.mse_loss(pred, target, reduction="none")
    return squared[valid].mean()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 48), nn.Tanh(), nn.Linear(48, 12))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
loader = DataLoader(Stations(), batch_size=60, shuffle=True)
for epoch in range(4):
    for drivers, readings in loader:
        loss = masked_mse(net(drivers), readings)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
