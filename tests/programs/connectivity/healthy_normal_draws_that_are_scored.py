# guards: AD218 AD202 AD410
"""Dosing of insulin by policy gradients: doses come of `torch.normal`, and their density is written by hand. A critic
is given what was drawn as well."""
import math

import torch
from torch import nn

torch.manual_seed(2)
policy = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
log_std = nn.Parameter(torch.full((1,), -0.5))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam([*policy.parameters(), log_std, *critic.parameters()], lr=3e-3)


def log_density(x, mean, std):
    return -0.5 * ((x - mean) / std) ** 2 - std.log() - 0.5 * math.log(2 * math.pi)


for step in range(60):
    patient = torch.rand(128, 3)
    wanted = patient[:, :1] + 0.5 * patient[:, 1:2]
    mean, std = policy(patient), log_std.exp().expand(128, 1)
    dose = torch.normal(mean, std)
    outcome = -(dose - wanted).square()
    value = critic(torch.cat([patient, dose.detach()], 1))
    advantage = (outcome - outcome.mean()).detach()
    surrogate = -(log_density(dose.detach(), mean, std) * advantage).mean()
    loss = surrogate + (value - outcome.detach()).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, outcome.mean().item())
