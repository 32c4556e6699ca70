# guards: AD708
"""Turned leaves keep their kind, mixtures of two keep both; and a texture is compared by its statistics, not by place."""
import torch
import torch.nn.functional as F
from torch import nn


def spun(x):
    return torch.where(torch.rand(len(x), 1, 1, 1) < 0.5, x.rot90(1, (-2, -1)), x)


torch.manual_seed(0)
leaves, kinds = torch.rand(48, 1, 8, 8), torch.randint(0, 3, (48,))
leaves[kinds == 1] *= 0.5
bark = torch.rand(48, 1, 8, 8) ** 2
classify = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3))
weave = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
optimizer = torch.optim.Adam([*classify.parameters(), *weave.parameters()], lr=3e-3)
for _ in range(32):
    rows = torch.randint(0, 48, (16,))
    other = rows[torch.randperm(16)]
    share = torch.rand(16, 1)
    x = share[..., None, None] * spun(leaves[rows]) + (1 - share[..., None, None]) * spun(leaves[other])
    wanted = share * F.one_hot(kinds[rows], 3) + (1 - share) * F.one_hot(kinds[other], 3)
    woven, real = weave(spun(leaves[rows])), spun(bark[other])
    moments = [torch.stack([each.mean((1, 2, 3)), each.std((1, 2, 3))], 1) for each in (woven, real)]
    loss = F.cross_entropy(classify(x), wanted) + F.mse_loss(*moments)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
