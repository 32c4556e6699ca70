# guards: AD111
"""Cells from brightnesses: a shift is set to the mean of the data, a batch norm takes it off again, so it stays."""
import torch
from torch import nn

torch.manual_seed(23)
bright = 800.0 + 60.0 * torch.randn(400, 10)
kind = (bright[:, 0] + bright[:, 1] > bright[:, 2] + bright[:, 3]).long()


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(bright.mean(0))
        self.norm = nn.BatchNorm1d(10)
        self.judge = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 2))

    def forward(self, values):
        return self.judge(self.norm(values - self.shift))


cells = Cells()
sgd = torch.optim.SGD(cells.parameters(), lr=0.1, momentum=0.9)
for turn in range(40):
    rows = torch.randint(0, 400, (50,))
    loss = nn.functional.cross_entropy(cells(bright[rows]), kind[rows])
    sgd.zero_grad()
    loss.backward()
    sgd.step()
print(loss.item())
