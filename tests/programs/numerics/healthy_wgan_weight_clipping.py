# guards: AD405 AD412
"""WGAN with weight clipping on a ring."""

import torch
import torch.nn as nn

torch.manual_seed(73)


def real(n=64):
    a = torch.rand(n) * 6.2832
    return 20 * torch.stack([a.cos(), a.sin()], 1) + 0.5 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
D = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
optG = torch.optim.RMSprop(G.parameters(), lr=2e-3)
optD = torch.optim.RMSprop(D.parameters(), lr=2e-3)
CLIP = 0.3
for it in range(70):
    for _ in range(3):
        z = torch.randn(64, 4)
        with torch.no_grad():
            fake = G(z)
        loss_d = D(fake).mean() - D(real()).mean()
        optD.zero_grad()
        loss_d.backward()
        optD.step()
        with torch.no_grad():
            for p in D.parameters():
                p.clamp_(-CLIP, CLIP)
    loss_g = -D(G(torch.randn(64, 4))).mean()
    optG.zero_grad()
    loss_g.backward()
    optG.step()
    if it % 7 == 0:
        with torch.no_grad():
            r = G(torch.randn(256, 4)).norm(dim=1).mean().item()
        print(f"{it:3d} critic {loss_d.item():.2f} gen {loss_g.item():.2f} radius {r:.2f}")
