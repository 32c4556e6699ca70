# guards: AD633
import argparse

import torch
import torch.autograd as autograd
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--n_critic", type=int, default=3)
parser.add_argument("--lambda_gp", type=float, default=10.0)
parser.add_argument("--iters", type=int, default=24)
opt = parser.parse_args()
torch.manual_seed(11)


class Generator(nn.Module):
    def __init__(self, nz=16):
        super().__init__()
        self.fc = nn.Linear(nz, 16 * 4 * 4)
        self.up = nn.Sequential(
            nn.ReLU(True),
            nn.ConvTranspose2d(16, 8, 4, 2, 1),
            nn.ReLU(True),
            nn.ConvTranspose2d(8, 1, 4, 2, 1),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.up(self.fc(z).view(-1, 16, 4, 4))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 16, 4, 2, 1), nn.LeakyReLU(0.2)
        )
        self.out = nn.Linear(16 * 4 * 4, 1)

    def forward(self, x):
        return self.out(self.net(x).flatten(1)).view(-1)


def real_batch(n):
    canvas = -torch.ones(n, 1, 16, 16)
    for i in range(n):
        r, c = torch.randint(1, 9, (2,)).tolist()
        canvas[i, 0, r : r + 6, c : c + 6] = 1.0
    return canvas + 0.05 * torch.randn_like(canvas)


def compute_gradient_penalty(D, real_samples, fake_samples):
    alpha = torch.rand(real_samples.size(0), 1, 1, 1)
    interpolates = (alpha * real_samples + (1 - alpha) * fake_samples).requires_grad_(True)
    d_interpolates = D(interpolates)
    gradients = autograd.grad(
        outputs=d_interpolates,
        inputs=interpolates,
        grad_outputs=torch.ones(real_samples.size(0)),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    norms = gradients.view(gradients.size(0), -1).norm(2, dim=1)
    return ((norms - 1) ** 2).mean()


G, D = Generator(), Critic()
optG = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
optD = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
for it in range(opt.iters):
    real = real_batch(16)
    optD.zero_grad()
    fake = G(torch.randn(16, 16)).detach()
    gp = compute_gradient_penalty(D, real, fake)
    loss_d = D(fake).mean() - D(real).mean() + opt.lambda_gp * gp
    loss_d.backward()
    optD.step()
    if it % opt.n_critic == 0:
        optG.zero_grad()
        loss_g = -D(G(torch.randn(16, 16))).mean()
        loss_g.backward()
        optG.step()
        print(f"{it} D {loss_d.item():.3f} G {loss_g.item():.3f} gp {gp.item():.3f}")
