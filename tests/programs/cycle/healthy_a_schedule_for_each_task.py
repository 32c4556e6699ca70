# guards: AD115
"""Tasks one after the other with one optimizer: each has a schedule of its own length, which ends near nothing."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
directions = torch.randn(3, 6, 1)
for task, length in enumerate((8, 6, 26)):
    for group in optimizer.param_groups:
        group["lr"] = 0.05
        group.pop("initial_lr", None)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=length)
    for step in range(length):
        x = torch.randn(64, 6)
        loss = nn.functional.mse_loss(net(x), x @ directions[: task + 1].mean(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < length - 1:
            schedule.step()
    print(task, loss.item())
