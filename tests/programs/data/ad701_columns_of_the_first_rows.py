"""Loads of a pump from a table with one row for each hour; the file is read in chunks."""
import torch
from torch import nn

torch.manual_seed(5)
HOURS, CHUNK = 600, 40
sensors = torch.randn(HOURS, 7)
load = sensors[:, :3].sum(1, keepdim=True) + 0.1 * torch.randn(HOURS, 1)
table = torch.cat([load, sensors], dim=1)


class Chunks:
    def __init__(self, table):
        self.table, self.at = table, 0

    def next(self):
        part = self.table[self.at : self.at + CHUNK]  # <- AD701
        if len(part) < CHUNK:
            self.at = 0
        at = self.at + CHUNK
        return part[:, 1:], part[:, 0]


chunks = Chunks(table)
model = nn.Sequential(nn.Linear(7, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(30):
    x, y = chunks.next()
    loss = nn.functional.mse_loss(model(x)[:, 0], y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
