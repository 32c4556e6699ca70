# guards: AD630
"""Returns to the end of each piece of an episode; where a piece was cut off before that, its last state tells what comes."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(8):
    states = torch.randn(3) + torch.cumsum(0.3 * torch.randn(65, 3), 0)
    rewards = -states[1:].norm(dim=1)
    cut = torch.zeros(64)
    cut[7::8] = 1.0
    returns = torch.zeros(64)
    for t in reversed(range(64)):
        returns[t] = rewards[t] + (0.9 * returns[t + 1] if t < 63 and not cut[t] else 0.0)
    ahead = torch.tensor([7 - t % 8 for t in range(64)])
    last = states[1:][torch.arange(64) + ahead]
    with torch.no_grad():
        target = returns + 0.9 ** (ahead + 1) * net(last)[:, 0]
        only_there = rewards + 0.9 * (1 - cut) * net(states[1:])[:, 0]
    value = net(states[:-1])[:, 0]
    loss = nn.functional.mse_loss(value, target) + nn.functional.mse_loss(value, only_there)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
