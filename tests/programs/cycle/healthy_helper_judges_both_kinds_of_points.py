# guards: AD125
"""A discriminator hears of real points and of forged ones by one helper, which clips what each of them has led to."""

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(0)
forger = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
forging = torch.optim.Adam(forger.parameters(), lr=1e-3)
judging = torch.optim.Adam(critic.parameters(), lr=1e-3)


def judge(points, answer):
    scores = critic(points)
    loss = nn.functional.binary_cross_entropy_with_logits(scores, torch.full_like(scores, answer)) / 2
    loss.backward()
    clip_grad_norm_(critic.parameters(), 0.05)


for _ in range(15):
    real = torch.randn(32, 2) * 0.3 + 2
    forged = forger(torch.randn(32, 4))
    judging.zero_grad()
    judge(real, 1.0)
    judge(forged.detach(), 0.0)
    judging.step()
    forging.zero_grad()
    nn.functional.binary_cross_entropy_with_logits(critic(forged), torch.ones(32, 1)).backward()
    clip_grad_norm_(forger.parameters(), 0.05)
    forging.step()
