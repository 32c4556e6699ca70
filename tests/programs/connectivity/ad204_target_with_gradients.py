import copy

import torch
from torch import nn

torch.manual_seed(0)
online = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target = copy.deepcopy(online)
optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)  # expect: AD204
for step in range(12):
    state, following, reward = torch.randn(32, 4), torch.randn(32, 4), torch.randn(32)
    wanted = reward + 0.9 * target(following).amax(dim=1)
    loss = (online(state).amax(dim=1) - wanted).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 3:
        target.load_state_dict(online.state_dict())
