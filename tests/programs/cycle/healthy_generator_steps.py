# guards: AD104
"""A GAN of class conditional points, both optimizers step."""

import torch
import torch.nn as nn

torch.manual_seed(0)
nz, nclass = 4, 3


class CondG(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(nclass, 4)
        self.net = nn.Sequential(nn.Linear(nz + 4, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, z, c):
        return self.net(torch.cat([z, self.emb(c)], 1))


class CondD(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(nclass, 4)
        self.net = nn.Sequential(nn.Linear(6, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x, c):
        return self.net(torch.cat([x, self.emb(c)], 1)).squeeze(1)


G, D = CondG(), CondD()
optG = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
optD = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
softplus = nn.functional.softplus
places = torch.tensor([[0.0, 1.0], [0.9, -0.5], [-0.9, -0.5]])
for it in range(30):
    c = torch.randint(0, nclass, (48,))
    real = places[c] + 0.1 * torch.randn(48, 2)
    fake = G(torch.randn(48, nz), c)
    optD.zero_grad()
    lossD = softplus(-D(real, c)).mean() + softplus(D(fake.detach(), c)).mean()
    lossD.backward()
    optD.step()

    optG.zero_grad()
    lossG = softplus(-D(fake, c)).mean()
    lossG.backward()
    optG.step()
    if it % 10 == 0:
        print(it, lossD.item(), lossG.item())
