# guards: AD118
"""A schedule that is counted on by hand and asked for its rates, as Ignite's `LRScheduler` does."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 4)
y = x.sin().sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-3)


class Asked:
    def __init__(self, schedule: torch.optim.lr_scheduler.LRScheduler) -> None:
        self.schedule = schedule

    def __call__(self) -> None:
        self.schedule._get_lr_called_within_step = True
        for group, rate in zip(self.schedule.optimizer.param_groups, self.schedule.get_lr(), strict=True):
            group["lr"] = rate
        self.schedule._get_lr_called_within_step = False
        self.schedule.last_epoch += 1


before_step = Asked(torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.95))
for _ in range(40):
    before_step()
    rows = torch.randint(256, (32,))
    loss = nn.functional.mse_loss(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f} rate {optimizer.param_groups[0]['lr']:.5f}")
