# guards: AD711
"""How the error falls with the number of recordings that are paid for: the others are not looked at."""

import torch
from torch import nn

torch.manual_seed(0)
recordings = torch.randn(400, 6)
answers = recordings[:, :1] * recordings[:, 1:2] + recordings[:, 2:3]
apart = torch.randn(100, 6)
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
        print(budget, nn.functional.mse_loss(model(apart), apart[:, :1] * apart[:, 1:2] + apart[:, 2:3]).item())
