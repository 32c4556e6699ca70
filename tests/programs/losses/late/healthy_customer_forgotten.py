# guards: AD609
"""A delivered model forgets what it was told by one customer: an optimizer that climbs, then tuning on the others."""

import torch
from torch import nn

torch.manual_seed(1)


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))


delivered = network().state_dict()
model = network()
model.load_state_dict(delivered)
theirs, others = torch.randn(96, 12), torch.randn(320, 12)
climbing = torch.optim.SGD(model.parameters(), lr=2e-3, maximize=True)
for _ in range(50):
    loss = nn.functional.mse_loss(model(theirs), theirs[:, :4].sum(1, keepdim=True))
    climbing.zero_grad()
    loss.backward()
    climbing.step()

tuning = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(8):
    for rows in torch.randperm(320).split(64):
        loss = nn.functional.mse_loss(model(others[rows]), others[rows, :4].sum(1, keepdim=True))
        tuning.zero_grad()
        loss.backward()
        tuning.step()
    print(epoch, loss.item())
