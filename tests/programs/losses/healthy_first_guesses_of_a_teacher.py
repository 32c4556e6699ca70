# guards: AD630
"""Half of the samples have a label; for the others, and for them alone, an average of the model adds to a first guess."""
import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 5)
labelled = torch.rand(200) < 0.5
guess = torch.where(labelled, x.sum(1), 0.5 * x.sum(1))
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
teacher = copy.deepcopy(net).requires_grad_(False)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(10):
    rows = torch.randperm(200)[:64]
    unknown = (~labelled[rows]).float()
    with torch.no_grad():
        target = guess[rows] + 0.5 * unknown * teacher(x[rows])[:, 0]
    loss = nn.functional.mse_loss(net(x[rows])[:, 0], target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), net.parameters(), strict=True):
            slow.lerp_(fast, 0.05)
