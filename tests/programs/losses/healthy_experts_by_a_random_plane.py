# guards: AD608
"""A set of particles whose neighbours are looked up by a random projection drawn in each forward."""

import torch
from torch import nn

torch.manual_seed(1)


class HashedLayer(nn.Module):
    """Which of two experts a particle takes is decided by the side of a random plane on which it lies."""

    def __init__(self, dim=6):
        super().__init__()
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(dim, 16), nn.Tanh(), nn.Linear(16, 1)) for _ in range(2))

    def forward(self, particles):
        plane = torch.randn(particles.shape[1])
        side = particles @ plane > 0
        energy = particles.new_zeros(len(particles), 1)
        for expert, chosen in zip(self.experts, (side, ~side), strict=True):
            energy = energy.masked_scatter(chosen[:, None], expert(particles[chosen]))
        return energy


model = HashedLayer()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for step in range(60):
    particles = torch.randn(64, 6)
    target = particles.pow(2).sum(1, keepdim=True) / 6
    loss = nn.functional.smooth_l1_loss(model(particles), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        with torch.no_grad():
            print(step, nn.functional.l1_loss(model(particles), target).item())
