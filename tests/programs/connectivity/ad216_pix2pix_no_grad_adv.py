"""Pix2pix-like translator: the generator's adversarial loss is computed under torch.no_grad() (AD216)."""
import torch
import torch.nn as nn


def conv_block(cin, cout, norm=True):
    layers = [nn.Conv2d(cin, cout, 3, padding=1)]
    if norm:
        layers.append(nn.InstanceNorm2d(cout))
    layers.append(nn.LeakyReLU(0.2))
    return nn.Sequential(*layers)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv_block(1, 8, norm=False), conv_block(8, 8, norm=False), nn.Conv2d(8, 1, 3, padding=1))

    def forward(self, x):
        return torch.tanh(self.body(x))


class PatchD(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(conv_block(2, 8, norm=False), nn.Conv2d(8, 1, 3, stride=2, padding=1))

    def forward(self, a, b):
        return self.net(torch.cat([a, b], 1))


def batch(n=8):
    a = torch.rand(n, 1, 12, 12) * 2 - 1
    b = torch.tanh(2 * a - 0.5)
    return a, b


torch.manual_seed(0)
G, D = Generator(), PatchD()
opt_G = torch.optim.Adam(G.parameters(), lr=4e-3, betas=(0.5, 0.999))
opt_D = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
l1 = nn.L1Loss()
LAMBDA = 10.0

for it in range(30):
    real_a, real_b = batch()
    fake_b = G(real_a)

    # discriminator
    opt_D.zero_grad()
    p_real = D(real_a, real_b)
    p_fake = D(real_a, fake_b.detach())
    loss_D = 0.5 * (bce(p_real, torch.ones_like(p_real)) + bce(p_fake, torch.zeros_like(p_fake)))
    loss_D.backward()
    opt_D.step()

    # generator; D is not updated here
    opt_G.zero_grad()
    with torch.no_grad():
        p_fake = D(real_a, fake_b)
        loss_gan = bce(p_fake, torch.ones_like(p_fake))
    loss_l1 = LAMBDA * l1(fake_b, real_b)
    loss_G = loss_gan + loss_l1  # expect: AD216
    loss_G.backward()
    opt_G.step()

    if it % 10 == 0:
        print(f"[{it:02d}] D {loss_D.item():.3f} G {loss_G.item():.3f} L1 {loss_l1.item():.3f}")
