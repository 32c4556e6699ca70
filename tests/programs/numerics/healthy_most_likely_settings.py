# guards: AD405 AD412
"""The settings of a plant at which a fitted surrogate promises the largest yield, found by Adam uphill."""

import torch
from torch import nn

torch.manual_seed(1)
tried = torch.rand(200, 3)
yields = (2 * tried[:, 0] - 3 * (tried[:, 1] - 0.6).square() + tried[:, 2]).exp() - 0.9
surrogate = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 1))
fit = torch.optim.Adam(surrogate.parameters(), lr=0.02)
for _ in range(10):
    fit.zero_grad()
    nn.functional.mse_loss(surrogate(tried).squeeze(1), yields).backward()
    fit.step()
surrogate.requires_grad_(False)

settings = torch.full((3,), 0.05, requires_grad=True)
search = torch.optim.Adam([settings], lr=0.15, maximize=True)
for _ in range(20):
    search.zero_grad()
    promised = surrogate(settings).exp().squeeze()
    promised.backward()
    search.step()
    with torch.no_grad():
        settings.clamp_(0.01, 4)
print(f"promised {promised.item():.1f} at {settings.tolist()}")
