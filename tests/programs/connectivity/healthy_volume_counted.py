# guards: AD219
import math

import torch
from torch import nn


class Planar(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.u, self.w = nn.Parameter(0.1 * torch.randn(d)), nn.Parameter(0.5 * torch.randn(d))
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, z):
        inner = torch.tanh(z @ self.w + self.b)
        psi = (1 - inner**2)[:, None] * self.w
        return z + self.u * inner[:, None], torch.log((1 + psi @ self.u).abs() + 1e-8)


class Density(nn.Module):
    def __init__(self, d=2, layers=5):
        super().__init__()
        self.layers = nn.ModuleList(Planar(d) for _ in range(layers))

    def forward(self, x):
        volume = torch.zeros(len(x))
        for layer in self.layers:
            x, change = layer(x)
            volume += change
        return x, volume


torch.manual_seed(0)
model = Density()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(28):
    angle = 6.28 * torch.rand(128)
    x = torch.stack([angle.cos(), angle.sin()], 1) + 0.1 * torch.randn(128, 2)
    z, volume = model(x)
    loss = (0.5 * (z**2).sum(1) - volume).mean() + math.log(2 * math.pi)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 9 == 0:
        print(step, loss.item())
