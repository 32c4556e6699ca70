# guards: AD618
"""Differences with gradients on both sides, or targets that are cut off: none of these chases itself."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
online = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1))
slow = copy.deepcopy(online).requires_grad_(False)
denoiser = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 4))
encoder = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))
dynamics = nn.Linear(4, 4)
parts = nn.ModuleList([online, denoiser, encoder, dynamics])
optimizer = torch.optim.Adam(parts.parameters(), lr=2e-3)


def consistent(x, noise, level):
    """A skip connection and a correction, as consistency models have."""
    noisy = x + level * noise
    keep = 1 / (1 + level**2)
    return keep * noisy + (1 - keep) * denoiser(torch.cat([noisy, level], dim=1))


for step in range(24):
    state, noise = torch.randn(20, 4), torch.randn(20, 4)
    reward, after = state[:, 0], 0.9 * state + 0.1 * noise

    # A target network that is dragged along.
    chased = reward + 0.9 * slow(after).squeeze(1)
    temporal = F.mse_loss(online(state).squeeze(1), chased)

    # The same network, cut off.
    cut = reward + 0.9 * online(after).squeeze(1).detach()
    temporal = temporal + F.smooth_l1_loss(online(state).squeeze(1), cut)

    # Both sides are data plus a correction.
    small, large = torch.rand(20, 1) * 0.2, torch.rand(20, 1)
    symmetric = F.mse_loss(consistent(state, noise, large), consistent(state, noise, small))

    # What the encoder will say next, by a model of the world: no data are added to it.
    foreseen = encoder(state) + 0.1 * dynamics(encoder(state))
    world = F.mse_loss(foreseen, encoder(after))

    # The target is the input itself.
    rebuilt = state + 0.5 * dynamics(encoder(state))
    loss = temporal + symmetric + world + F.mse_loss(rebuilt, after)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for old, new in zip(slow.parameters(), online.parameters(), strict=True):
            old.lerp_(new, 0.05)
print(loss.item())
