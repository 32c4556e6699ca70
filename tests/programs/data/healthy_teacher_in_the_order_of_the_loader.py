# guards: AD708
"""The loader draws in one order, epoch for epoch, and what the teacher said is kept in that order."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
signals = torch.randn(320, 10)
data = TensorDataset(signals)
order = torch.Generator()
loader = DataLoader(data, batch_size=32, shuffle=True, generator=order)
teacher = nn.Sequential(nn.Linear(10, 40), nn.GELU(), nn.Linear(40, 3)).requires_grad_(False)
student = nn.Sequential(nn.Linear(10, 8), nn.GELU(), nn.Linear(8, 3))


def epoch_of(seed: int) -> DataLoader:
    order.manual_seed(seed)
    return loader


kept = torch.cat([teacher(batch) for (batch,) in epoch_of(7)])
in_order = torch.cat([teacher(batch) for (batch,) in DataLoader(data, batch_size=40)])
optimizer = torch.optim.AdamW(student.parameters(), lr=0.01)
for epoch in range(4):
    for number, (batch,) in enumerate(epoch_of(7)):
        loss = nn.functional.mse_loss(student(batch), kept[32 * number : 32 * (number + 1)])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for number, (batch,) in enumerate(DataLoader(data, batch_size=40)):
        loss = nn.functional.mse_loss(student(batch), in_order[40 * number : 40 * number + 40])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
