# guards: AD116
import copy

import torch
from torch import nn

torch.manual_seed(0)
online = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
target = copy.deepcopy(online)
optimizer = torch.optim.SGD(online.parameters(), lr=0.05)
for step in range(8):
    states = torch.randn(16, 4)
    with torch.no_grad():
        values = states.sum(dim=1, keepdim=True) + 0.5 * target(states)
    loss = nn.functional.mse_loss(online(states), values)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 3:
        target.load_state_dict(online.state_dict())
