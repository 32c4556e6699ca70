# guards: AD703
"""A walker that falls at once, and gets far later: what its replay holds grows with its skill."""

import torch
from torch import nn

torch.manual_seed(0)
memory, rewards, filled = torch.zeros(4000, 3), torch.zeros(4000, 1), 0
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for update in range(240):
    reach = 0.02 * 1.03**update
    memory[filled : filled + 16] = reach * torch.rand(16, 3)
    rewards[filled : filled + 16] = memory[filled : filled + 16].sum(1, keepdim=True)
    filled += 16
    rows = torch.randint(max(0, filled - 400), filled, (32,))
    loss = nn.functional.mse_loss(model(memory[rows]), rewards[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
