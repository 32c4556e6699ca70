"""A smooth critic of well logs is averaged over steps, with all that is in its state, and scored by the average."""

import copy

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

torch.manual_seed(0)


def layer(inputs, outputs):
    return spectral_norm(nn.Linear(inputs, outputs))


critic = nn.Sequential(layer(10, 48), nn.LeakyReLU(0.2), layer(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
average = copy.deepcopy(critic).eval()
optimizer = torch.optim.Adam(critic.parameters(), lr=0.03)
for step in range(40):
    critic.train()
    log = torch.randn(64, 10)
    loss = nn.functional.mse_loss(critic(log), log[:, :2].sum(1, keepdim=True) * log[:, 2:3].sign())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for kept, new in zip(average.state_dict().values(), critic.state_dict().values()):
            kept.mul_(0.95).add_(new, alpha=0.05)  # expect: AD121
        log = torch.randn(64, 10)
        print(step, average(log).std().item())
