# guards: AD220 AD609
"""An energy-based model with Langevin sampling: gradients with respect to inputs inside a training step."""
import torch
from torch import nn

torch.manual_seed(0)
energy = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(energy.parameters(), lr=3e-3)
chains = torch.randn(64, 2)


def langevin(x, steps=4, size=0.1):
    for p in energy.parameters():
        p.requires_grad_(False)
    x = x.clone().requires_grad_(True)
    for _ in range(steps):
        (slope,) = torch.autograd.grad(energy(x).sum(), x)
        x = (x - size * slope + 0.05 * torch.randn_like(x)).detach().requires_grad_(True)
    for p in energy.parameters():
        p.requires_grad_(True)
    return x.detach()


for step in range(25):
    angle = 6.28 * torch.rand(64)
    real = torch.stack([angle.cos(), angle.sin()], 1)
    chains = langevin(chains)
    positive, negative = energy(real), energy(chains)
    loss = positive.mean() - negative.mean() + 0.1 * (positive**2 + negative**2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        print(step, loss.item())
