"""A learned potential whose force is matched to accelerations, with friction that the same network predicts."""

import torch
from torch import nn
from torch.autograd import grad
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
positions = 2 * torch.rand(256, 3) - 1
velocities = torch.randn(256, 3)
accelerations = -positions - 0.3 * velocities

shared = nn.Sequential(nn.Linear(3, 24), nn.SiLU())
potential, friction = nn.Linear(24, 1), nn.Linear(24, 1)
learned = [*shared.parameters(), *potential.parameters(), *friction.parameters()]
optimizer = torch.optim.RMSprop(learned, lr=1e-3)
loader = DataLoader(TensorDataset(positions, velocities, accelerations), batch_size=32, shuffle=True)

for epoch in range(4):
    total = 0.0
    for q, v, a in loader:
        q = q.clone().requires_grad_(True)
        hidden = shared(q)
        energy = potential(hidden)
        force = -grad(energy.sum(), q, retain_graph=True)[0]  # <- AD223
        predicted = force - friction(hidden) * v
        loss = nn.functional.mse_loss(predicted, a)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader))
