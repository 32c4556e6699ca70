# guards: AD218
"""Arrival times: a Gaussian regression proposes negatives, an energy learns to tell the real ones from them."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
proposer = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
energy = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 1))
opt = torch.optim.Adam([*proposer.parameters(), *energy.parameters()], lr=4e-3)


def trips(n):
    traffic = torch.rand(n, 2)
    late = (torch.rand(n, 1) < traffic[:, :1]).float()
    return traffic, 1 + traffic.sum(1, keepdim=True) + late + 0.1 * torch.randn(n, 1)


for step in range(40):
    traffic, minutes = trips(48)
    mean, raw = proposer(traffic).chunk(2, 1)
    spread = F.softplus(raw) + 0.1
    regression = F.gaussian_nll_loss(mean, minutes, spread**2)
    guess = Normal(mean, spread)
    others = torch.stack([minutes, *(guess.sample() for _ in range(8))], 1)
    with torch.no_grad():
        chance = guess.log_prob(others.squeeze(-1)).unsqueeze(-1)
    context = traffic.unsqueeze(1).expand(-1, 9, -1)
    score = energy(torch.cat([context, others], -1)) - chance
    contrast = -score.squeeze(-1).log_softmax(1)[:, 0].mean()
    opt.zero_grad()
    (regression + contrast).backward()
    opt.step()
    if step % 10 == 0:
        print(step, regression.item(), contrast.item())
