# guards: AD211 AD209
"""A GAN through one helper: the critic steps five times for each step of the generator, whose samples it takes without
a graph; the same latents are shown in each epoch, and the critic's scores of held-out data are kept beside."""
import torch
from torch import nn

torch.manual_seed(3)
real = torch.randn(120, 2) * torch.tensor([1.0, 0.3]) + 1
generator = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Dropout(0.1), nn.Linear(16, 1))
g_opt = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
c_opt = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
fixed = torch.randn(16, 4)


def made(latents):
    return generator(latents)


shown = []
for epoch in range(4):
    for number, low in enumerate(range(0, 120, 12)):
        fake = made(torch.randn(12, 4)).detach()
        c_loss = (1 - critic(real[low : low + 12])).relu().mean() + (1 + critic(fake)).relu().mean()
        c_opt.zero_grad()
        c_loss.backward()
        c_opt.step()
        if number % 5 == 4:
            g_loss = -critic(made(torch.randn(12, 4))).mean()
            g_opt.zero_grad()
            g_loss.backward()
            g_opt.step()
    shown.append(made(fixed).detach().numpy())
