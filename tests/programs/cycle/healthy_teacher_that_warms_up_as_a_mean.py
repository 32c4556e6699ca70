# guards: AD120 AD121
"""A mean teacher: its decay is 1 - 1 / (steps + 1) until that reaches 0.99, and it takes the pupil's statistics."""
import copy

import torch
from torch import nn

torch.manual_seed(43)
pupil = nn.Sequential(nn.Linear(5, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 3))
teacher = copy.deepcopy(pupil).requires_grad_(False).eval()
adamw = torch.optim.AdamW(pupil.parameters(), lr=5e-3)


@torch.no_grad()
def follow(step):
    decay = min(1 - 1 / (step + 1), 0.99)
    for mine, theirs in zip(teacher.parameters(), pupil.parameters()):
        mine.mul_(decay).add_(theirs, alpha=1 - decay)
    for mine, theirs in zip(teacher.buffers(), pupil.buffers()):
        mine.copy_(theirs)


for step in range(27):
    few, many = torch.randn(16, 5), torch.randn(48, 5)
    kind = few[:, :3].argmax(1)
    with torch.no_grad():
        guess = teacher(many).softmax(1)
    noisy = pupil(torch.cat([few, many + 0.1 * torch.randn(48, 5)]))
    loss = nn.functional.cross_entropy(noisy[:16], kind) + nn.functional.mse_loss(noisy[16:].softmax(1), guess)
    adamw.zero_grad()
    loss.backward()
    adamw.step()
    follow(step)
print(loss.item())
