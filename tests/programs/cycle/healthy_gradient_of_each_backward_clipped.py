# guards: AD125
"""Hooks clip what each backward sends, before it is accumulated; batches that are left over go into the next epoch."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv1d(1, 6, 5, padding=2), nn.SiLU(), nn.Flatten(), nn.Linear(6 * 16, 4))
for weight in model.parameters():
    weight.register_hook(lambda sent: sent * torch.clamp(0.02 / (sent.norm() + 1e-6), max=1.0))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
times = torch.linspace(0, 6.28, 16)
seen = 0
for epoch in range(4):
    for _ in range(11):
        kinds = torch.randint(4, (8,))
        waves = torch.sin(times * (1 + kinds[:, None])) + 0.3 * torch.randn(8, 16)
        (nn.functional.cross_entropy(model(waves.unsqueeze(1)), kinds) / 4).backward()
        seen += 1
        if seen % 4 == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 0.05)
            optimizer.step()
            optimizer.zero_grad()
