# guards: AD119
"""A regression is polished: momentum is kept from the file, the old schedule is dropped for one from a small rate."""

import os
import tempfile

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, StepLR

torch.manual_seed(6)
inputs = torch.randn(256, 7)
outputs = inputs[:, :2].prod(1, keepdim=True)


def epochs(net, descent, plan, count):
    for _ in range(count):
        for rows in torch.randperm(256).split(64):
            descent.zero_grad()
            nn.functional.huber_loss(net(inputs[rows]), outputs[rows]).backward()
            descent.step()
        plan.step()


net = nn.Sequential(nn.Linear(7, 24), nn.SiLU(), nn.Linear(24, 1))
descent = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
plan = StepLR(descent, 2, 0.5)
epochs(net, descent, plan, 4)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "state.pt")
    torch.save([net.state_dict(), descent.state_dict(), plan.state_dict()], path)
    weights, momentum, _ = torch.load(path)
net.load_state_dict(weights)
descent = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
descent.load_state_dict(momentum)
for group in descent.param_groups:
    group.pop("initial_lr")
    group["lr"] = 0.01
epochs(net, descent, CosineAnnealingLR(descent, 4), 4)
