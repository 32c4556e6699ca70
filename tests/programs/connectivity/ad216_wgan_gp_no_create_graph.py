"""WGAN-GP critic: the gradient penalty forgets create_graph=True, so it cannot move the critic (AD216)."""
import torch
from torch import autograd, nn, optim

Z, N_CRITIC, GP_WEIGHT, BATCH = 4, 3, 10, 64


class Critic(nn.Module):
    def __init__(self, h=32):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, 1, bias=False))

    def forward(self, x):
        return self.main(x).view(-1)


def calc_gradient_penalty(netD, real_data, fake_data):
    alpha = torch.rand(real_data.size(0), 1).expand_as(real_data)
    interpolates = alpha * real_data + (1 - alpha) * fake_data
    interpolates.requires_grad_(True)
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(outputs=disc_interpolates, inputs=interpolates,
                              grad_outputs=torch.ones_like(disc_interpolates), retain_graph=True)[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


def real_batch():
    angle = torch.rand(BATCH) * 6.2832
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(BATCH, 2)


if __name__ == '__main__':
    torch.manual_seed(0)
    netG = nn.Sequential(nn.Linear(Z, 32), nn.ReLU(), nn.Linear(32, 2))
    netD = Critic()
    optG = optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.9))
    optD = optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))
    for iteration in range(10):
        for _ in range(N_CRITIC):
            real = real_batch()
            with torch.no_grad():
                fake = netG(torch.randn(BATCH, Z))
            gp = calc_gradient_penalty(netD, real, fake)
            D_cost = netD(fake).mean() - netD(real).mean() + GP_WEIGHT * gp  # expect: AD216
            optD.zero_grad()
            D_cost.backward()
            optD.step()

        for p in netD.parameters():
            p.requires_grad = False
        G_cost = -netD(netG(torch.randn(BATCH, Z))).mean()
        optG.zero_grad()
        G_cost.backward()
        optG.step()
        for p in netD.parameters():
            p.requires_grad = True
        print('iter %d  D %.4f  G %.4f' % (iteration, D_cost.item(), G_cost.item()))
