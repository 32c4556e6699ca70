# guards: AD711
"""How the error falls with the number of recordings that are paid for: the others are not looked at."""

import torch
from torch import nn


def recorded(count):
    x = torch.randn(count, 6)
    return x, x[:, :1] * x[:, 1:2] + x[:, 2:3]


torch.manual_seed(0)
recordings, answers = recorded(400)
apart = recorded(100)
for budget in (40, 80, 160):
    model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(30):
        rows = torch.randint(budget, (24,))
        loss = nn.functional.mse_loss(model(recordings[rows]), answers[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(budget, nn.functional.mse_loss(model(apart[0]), apart[1]).item())
