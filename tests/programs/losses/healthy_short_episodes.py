# guards: AD630
"""Episodes are short, and a first state follows an end; marks say which of the steps go on, and these are few."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
state = torch.randn(3)
rows = []
for _ in range(200):
    after = state + 0.3 * torch.randn(3)
    over = bool(torch.rand(()) < 0.7)
    after = torch.randn(3) if over else after
    rows.append((state, after.norm(), after, torch.tensor(float(not over))))
    state = after
states, rewards, following, goes_on = (torch.stack(field) for field in zip(*rows))
for _ in range(10):
    chosen = torch.randperm(200)[:64]
    with torch.no_grad():
        target = rewards[chosen] + 0.9 * goes_on[chosen] * net(following[chosen])[:, 0]
    loss = nn.functional.mse_loss(net(states[chosen])[:, 0], target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
