# guards: AD412 AD407
"""Velocity in m/s of slow ground water."""

import torch
import torch.nn as nn

torch.manual_seed(82)


class Darcy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))

    def forward(self, xy):
        return 1e-5 * self.net(xy).squeeze(-1)


def field(xy):
    return 1e-5 * (torch.sin(3 * xy[:, 0]) * xy[:, 1] + 0.2)


net = Darcy()
opt = torch.optim.Adam(net.parameters(), lr=3e-3, eps=1e-20)
for step in range(250):
    xy = torch.rand(64, 2) * 2 - 1
    loss = nn.functional.mse_loss(net(xy), field(xy))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(step, f"{loss.item():.3e}")

xy = torch.rand(1000, 2) * 2 - 1
with torch.no_grad():
    rel = (net(xy) - field(xy)).abs().mean() / field(xy).abs().mean()
print("relative error", rel.item())
assert rel < 0.3
