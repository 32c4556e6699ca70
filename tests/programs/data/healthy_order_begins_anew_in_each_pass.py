# guards: AD728
"""The loader shuffles, but by a generator that is put back before each pass: batches are the same each time."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
order = torch.Generator()
loader = DataLoader(TensorDataset(torch.randn(160, 10)), batch_size=20, shuffle=True, generator=order)
teacher, student = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 3)), nn.Linear(10, 3)
order.manual_seed(5)
with torch.no_grad():
    kept = [teacher(x).softmax(1) for (x,) in loader]

optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
for _ in range(5):
    order.manual_seed(5)
    for (x,), wanted in zip(loader, kept, strict=True):
        loss = nn.functional.kl_div(student(x).log_softmax(1), wanted, reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
