# guards: AD707 AD704
# hinted: AD707
"""Sensors of machines: the next reading is always known, the fault behind an alarm only for one day in thirty."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

HOURS, UNKNOWN = 20, -1


class Days(Dataset):
    """A day is a batch."""

    def __init__(self, count):
        self.readings = torch.randn(count, HOURS, 5).cumsum(1) / 4
        self.faults = (self.readings[..., 0] > 0).long() + (self.readings[..., 1] > 0).long()
        self.faults[torch.arange(count) % 30 != 5] = UNKNOWN

    def __len__(self):
        return len(self.readings)

    def __getitem__(self, day):
        return self.readings[day], self.faults[day]


class Machine(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 24), nn.Tanh())
        self.ahead, self.fault = nn.Linear(24, 5), nn.Linear(24, 3)

    def forward(self, readings):
        state = self.body(readings)
        return self.ahead(state), self.fault(state)


torch.manual_seed(3)
loader = DataLoader(Days(60), batch_size=None, shuffle=True)
machine = Machine()
optimizer = torch.optim.Adam(machine.parameters(), lr=3e-3)
diagnosed = nn.CrossEntropyLoss(ignore_index=UNKNOWN, reduction="sum")
for _ in range(3):
    for readings, faults in loader:
        ahead, fault = machine(readings)
        foretold = nn.functional.smooth_l1_loss(ahead[:-1], readings[1:])
        loss = foretold + 0.2 * diagnosed(fault, faults) / HOURS
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
