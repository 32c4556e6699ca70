"""Learn a feed-forward controller through a simulated valve."""

import torch
import torch.nn as nn

torch.manual_seed(63)


class Controller(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        nn.init.constant_(self.net[2].bias, 7.5)

    def forward(self, s):
        u = self.net(s)
        return torch.clamp(u, 0.0, 5.0)  # expect: AD410


def plant(s, u):
    level, inflow, demand = s.unbind(1)
    return level + 0.3 * (u.squeeze(1) + inflow - demand)


ctl = Controller()
opt = torch.optim.Adam(ctl.parameters(), lr=1e-3)
for it in range(250):
    s = torch.stack([torch.rand(64), torch.rand(64) * 2, 2 + torch.rand(64) * 2], 1)
    u = ctl(s)
    after = plant(s, u)
    loss = ((after - 0.8) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 25 == 0:
        print(f"{it:3d} loss {loss.item():.4f} mean valve {u.mean().item():.3f}")
