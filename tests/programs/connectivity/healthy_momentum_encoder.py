# guards: AD214
import copy

import torch
from torch import nn

torch.manual_seed(0)
online = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))
target = copy.deepcopy(online).requires_grad_(False)
predictor = nn.Linear(4, 4)
optimizer = torch.optim.SGD([*online.parameters(), *predictor.parameters()], lr=0.05)
for _ in range(8):
    x = torch.randn(32, 6)
    with torch.no_grad():
        goal = target(x + 0.1 * torch.randn(32, 6))
    optimizer.zero_grad()
    nn.functional.mse_loss(predictor(online(x)), goal).backward()
    optimizer.step()
    with torch.no_grad():
        torch._foreach_lerp_(list(target.parameters()), list(online.parameters()), 0.05)
