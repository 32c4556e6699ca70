"""Well logs of one field together: of the distances to other fields, the three largest are taken, not the smallest."""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 6))
decoder = nn.Linear(6, 10)
optimizer = torch.optim.AdamW([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
fields = torch.arange(20) // 5
for _ in range(25):
    logs = torch.randn(20, 10) + fields[:, None].float()
    codes = encoder(logs)
    apart = (codes[:, None] - codes[None]).square().sum(-1)
    within = torch.where(fields[:, None] == fields, apart, torch.zeros(())).sum(1) / 4
    between = torch.where(fields[:, None] == fields, float("inf"), apart)  # expect: AD417
    nearest, _ = between.topk(3, dim=1)
    contrast = nn.functional.softplus(within - nearest.mean(1))
    loss = (decoder(codes) - logs).square().mean() + 0.1 * contrast.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
