# guards: AD121 AD120
"""Averages of two critics with spectral norms: one copies the vectors, of the other the legacy ones are computed anew."""

import copy

import torch
from torch import nn
from torch.nn.utils import spectral_norm as legacy
from torch.nn.utils.parametrizations import spectral_norm

torch.manual_seed(0)
for normed, averages_all in ((spectral_norm, False), (legacy, True)):
    critic = nn.Sequential(normed(nn.Linear(10, 48)), nn.LeakyReLU(0.2), normed(nn.Linear(48, 1)))
    average = copy.deepcopy(critic).eval()
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.03)
    for step in range(20):
        log = torch.randn(64, 10)
        loss = nn.functional.mse_loss(critic(log), log[:, :2].sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for kept, new in zip(average.parameters(), critic.parameters()):
                kept.lerp_(new, 0.05)
            for kept, new in zip(average.buffers(), critic.buffers()):
                if averages_all:
                    kept.lerp_(new, 0.05)
                    kept.div_(kept.norm())
                else:
                    kept.copy_(new)
            print(step, average(torch.randn(64, 10)).std().item())
