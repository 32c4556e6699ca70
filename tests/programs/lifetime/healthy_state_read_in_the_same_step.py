# guards: AD310
import torch
from torch import nn

torch.manual_seed(0)
online, target = nn.Linear(8, 1), nn.Linear(8, 1)
optimizer = torch.optim.SGD(online.parameters(), lr=0.05)
for step in range(16):
    if step % 8 == 0:
        state = online.state_dict()
        target.load_state_dict(state)
    x = torch.randn(16, 8)
    with torch.no_grad():
        goal = 0.9 * target(x) + x.mean(1, keepdim=True)
    loss = nn.functional.mse_loss(online(x), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
