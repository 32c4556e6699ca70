# guards: AD405 AD412
"""One perturbation that fools a trained classifier on all of its inputs: ascent on the loss of the victim."""

import torch
from torch import nn
from torch.nn import functional

torch.manual_seed(0)
labels = torch.randint(0, 4, (256,))
signals = torch.randn(256, 16) * 0.3 + torch.eye(4).repeat(1, 4)[labels] * 2
victim = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
fit = torch.optim.Adam(victim.parameters(), lr=0.02)
for _ in range(12):
    fit.zero_grad()
    functional.cross_entropy(victim(signals), labels).backward()
    fit.step()
victim.eval().requires_grad_(False)

shift = nn.Parameter(torch.full((1, 16), 0.01))
ascent = torch.optim.SGD([shift], lr=2.0, momentum=0.5, maximize=True)
for _ in range(18):
    ascent.zero_grad()
    fooled = functional.cross_entropy(victim(signals + shift), labels)
    fooled.backward()
    ascent.step()
    with torch.no_grad():
        shift.clamp_(-2, 2)
print(f"victim loss {fooled.item():.2f}")
