# guards: AD310
"""The way of the weights through their space is kept for a plot: in each step copied out of a dictionary made once."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-1, 1, 48)[:, None]
y = torch.sin(4 * x) + 0.05 * torch.randn(48, 1)
curve = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))
present = curve.state_dict(prefix="curve.")
path = []
optimizer = torch.optim.SGD(curve.parameters(), lr=0.1, momentum=0.9)
for _ in range(28):
    path.append({name: value.clone() for name, value in present.items()})
    loss = nn.functional.mse_loss(curve(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), [round(float(point["curve.0.weight"].norm()), 3) for point in path[::9]])
