# guards: AD721
"""Evaluations some way beyond what was trained on, of noise that begins large, and of what an agent sees."""

import torch
from torch import nn


def mlp(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 32), nn.Tanh(), nn.Linear(32, outputs))


class Denoiser(nn.Module):
    """Karras et al. 2022: what the network is given is divided by the root mean square of its noise."""

    def __init__(self):
        super().__init__()
        self.net = mlp(3, 2)

    def forward(self, x, sigma):
        given = x / (sigma**2 + 0.25).sqrt()
        return self.net(torch.cat([given, sigma.log() / 4], dim=1))


torch.manual_seed(6)
surface, denoiser, actor = mlp(2, 1), Denoiser(), mlp(3, 2)
everything = [*surface.parameters(), *denoiser.parameters(), *actor.parameters()]
optimizer = torch.optim.Adam(everything, lr=3e-3)
state = torch.zeros(3)
for step in range(25):
    points = 2 * torch.rand(48, 2) - 1
    loss = nn.functional.mse_loss(surface(points), (points[:, :1] * points[:, 1:]).sin())
    clean, sigma = torch.randn(48, 2) / 2, (1.2 * torch.randn(48, 1) - 1.2).exp()
    noise = torch.randn(48, 2)
    loss = loss + nn.functional.mse_loss(denoiser(clean + sigma * noise, sigma), noise)
    seen = torch.randn(16, 3)
    loss = loss + nn.functional.cross_entropy(actor(seen), (seen[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        move = actor(state[None]).argmax(1)
    state = 0.9 * state + torch.tensor([0.3, -0.2, 0.1]) * (2 * move - 1)
with torch.no_grad():
    axis = torch.linspace(-5, 5, 21)
    print(f"beyond: {surface(torch.cartesian_prod(axis, axis)).std():.3f}")
    print(f"at the origin: {surface(torch.zeros(4, 2)).mean():.3f}")
    sigmas = torch.tensor([4.0, 2.0, 1.0, 0.5, 0.2, 0.05])
    x = sigmas[0] * torch.randn(32, 2)
    for now, following in zip(sigmas, sigmas[1:]):
        x = x + (following - now) * denoiser(x, now.expand(32, 1))
    print(f"samples: {x.std():.3f}")
