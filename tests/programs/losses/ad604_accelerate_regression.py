"""Regression with Accelerate; the data set gives plain numbers as targets."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sensors(Dataset):
    def __init__(self, n=200):
        g = torch.Generator().manual_seed(1)
        self.rows = torch.randn(n, 6, generator=g)
        self.level = self.rows[:, :3].sum(1)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i], float(self.level[i])


torch.manual_seed(0)
accelerator = Accelerator(cpu=True)
model = nn.Sequential(nn.Linear(6, 24), nn.SiLU(), nn.Linear(24, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
loader = DataLoader(Sensors(), batch_size=20, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
loss_fn = nn.L1Loss()
for epoch in range(2):
    for rows, level in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(rows), level.float())  # expect: AD604
        accelerator.backward(loss)
        optimizer.step()
