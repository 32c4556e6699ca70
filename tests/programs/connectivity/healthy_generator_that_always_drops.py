# guards: AD211
"""Pictures are translated into their negatives; dropout is the only noise, and stays when they are shown."""

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Conv2d(8, 1, 3, padding=1),
    nn.Tanh(),
)
D = nn.Sequential(nn.Conv2d(2, 8, 3, stride=2), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 3))
og = torch.optim.Adam(G.parameters(), 2e-3, (0.5, 0.999))
od = torch.optim.Adam(D.parameters(), 2e-3, (0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
l1 = nn.L1Loss()


def pair(n):
    a = torch.rand(n, 1, 8, 8) * 2 - 1
    return a, -a


va, vb = pair(8)
for epoch in range(4):
    for _ in range(5):
        a, b = pair(4)
        fake = G(a)
        od.zero_grad()
        r, f = D(torch.cat([a, b], 1)), D(torch.cat([a, fake.detach()], 1))
        ((bce(r, torch.ones_like(r)) + bce(f, torch.zeros_like(f))) / 2).backward()
        od.step()
        og.zero_grad()
        f = D(torch.cat([a, fake], 1))
        (bce(f, torch.ones_like(f)) + 100 * l1(fake, b)).backward()
        og.step()
    with torch.no_grad():
        shown = G(va)
        print("l1", l1(shown, vb).item(), shown.std().item())
