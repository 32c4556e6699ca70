# guards: AD104
"""Super-resolution of signals: the critic is trained from the middle on, though its optimizer is cleared all along."""

import torch
import torch.nn.functional as F
from torch import nn

START, END = 60, 100


def coarse(signal):
    return F.avg_pool1d(signal, 4)


torch.manual_seed(0)
sharpen = nn.Sequential(nn.Conv1d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv1d(16, 4, 3, padding=1))
critic = nn.Sequential(nn.Conv1d(1, 8, 5, stride=2), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(112, 1))
for_sharpening = torch.optim.Adam(sharpen.parameters(), lr=2e-3)
for_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)
t = torch.linspace(0, 6.28, 32)
for step in range(END):
    fine = torch.sin(t * (1 + 3 * torch.rand(16, 1, 1)) + 6.28 * torch.rand(16, 1, 1))
    made = sharpen(coarse(fine)).transpose(1, 2).reshape(16, 1, 32)
    for_critic.zero_grad()
    judged = F.softplus(-critic(fine)).mean() + F.softplus(critic(made.detach())).mean()
    judged.backward()
    if step >= START:
        for_critic.step()
    for_sharpening.zero_grad()
    loss = F.l1_loss(made, fine)
    if step >= START:
        loss = loss + 0.01 * F.softplus(-critic(made)).mean()
    loss.backward()
    for_sharpening.step()
print(loss.item(), judged.item())
