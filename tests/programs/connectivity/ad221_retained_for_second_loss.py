"""A GAN whose critic runs its backward through the generator, and retains the graph for the second one."""
import torch
from torch import nn


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 32), nn.LeakyReLU(0.1), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
G, D = Generator(), Discriminator()
optG = torch.optim.Adam(G.parameters(), lr=2e-3)
optD = torch.optim.Adam(D.parameters(), lr=2e-3)
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)

for i in range(25):
    real = 1.5 + 0.5 * torch.randn(64, 1)
    fake = G(torch.randn(64, 5))

    optD.zero_grad()
    d_loss = bce(D(real), ones) + bce(D(fake), zeros)
    d_loss.backward(retain_graph=True)  # expect: AD221
    optD.step()

    optG.zero_grad()
    g_loss = bce(D(fake), ones)
    g_loss.backward()
    optG.step()
    if i % 8 == 0:
        print(i, d_loss.item(), g_loss.item())
