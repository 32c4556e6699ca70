# guards: AD108
import torch
from torch import nn

torch.manual_seed(3)
trunk, head = nn.Sequential(nn.Linear(6, 24), nn.SiLU()), nn.Linear(24, 1)
model = nn.Sequential(trunk, head)


def stage(parameters, rate, steps):
    optimizer = torch.optim.AdamW(parameters, lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps + 1)
    for _ in range(steps):
        x = torch.randn(32, 6)
        loss = nn.functional.smooth_l1_loss(model(x), x.prod(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return loss.item()


trunk.requires_grad_(False)
print(stage(head.parameters(), 1e-2, 16))
trunk.requires_grad_(True)
print(stage(model.parameters(), 3e-3, 14))
print(stage(model.parameters(), 1e-3, 14))
