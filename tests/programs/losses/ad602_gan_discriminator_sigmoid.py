"""A generative adversarial network in one dimension."""

import torch
from torch import nn

torch.manual_seed(5)
netG = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(1, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def forward(self, sample):
        return torch.sigmoid(self.main(sample)).view(-1)  # expect: AD602


netD = Discriminator()
criterion = nn.BCEWithLogitsLoss()
optD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
for it in range(20):
    real = 2 + 0.5 * torch.randn(32, 1)
    fake = netG(torch.randn(32, 4))
    both = torch.cat([real, fake.detach()])
    wanted = torch.cat([torch.ones(32), torch.zeros(32)])
    optD.zero_grad()
    errD = criterion(netD(both), wanted)
    errD.backward()
    optD.step()
    optG.zero_grad()
    errG = criterion(netD(fake), torch.ones(32))
    errG.backward()
    optG.step()
