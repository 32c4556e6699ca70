# guards: AD115
"""The base rate is 1, and the schedule tells the rate itself, which rises with the size of the batches."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
rate = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda stage: 0.002 * (stage + 4))
for stage in range(6):
    for _ in range(12):
        rows = torch.randn(16 * (stage + 4), 5)
        loss = nn.functional.mse_loss(model(rows), rows.norm(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    rate.step()
