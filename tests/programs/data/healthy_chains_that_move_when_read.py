# guards: AD712
"""An energy is learned against persistent chains: the pool moves those that it hands out by a few noisy steps."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(2)
energy = nn.Sequential(nn.Linear(3, 24), nn.SiLU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(energy.parameters(), lr=1e-3)


class Pool(Dataset):
    def __init__(self, size):
        self.particles = torch.randn(size, 3)

    def __len__(self):
        return len(self.particles)

    def __getitem__(self, number):
        place = self.particles[number].clone()
        for _ in range(2):
            place.requires_grad_()
            (slope,) = torch.autograd.grad(energy(place).squeeze(), place)
            place = (place - 0.05 * slope + 0.1 * torch.randn(3)).detach().clamp(-3, 3)
        self.particles[number] = place
        return place


chains = DataLoader(Pool(16), batch_size=4, shuffle=True)
for _ in range(5):
    for dreamt in chains:
        seen = torch.randn(4, 3) * torch.tensor([1.0, 0.3, 0.3])
        up, down = energy(dreamt), energy(seen)
        loss = down.mean() - up.mean() + 0.1 * (up.square() + down.square()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
