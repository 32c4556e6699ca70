# guards: AD202
"""A NeRF-like field in one dimension with coarse and fine networks, volume rendering and hierarchical samples."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def positional_encoding(x, L=4):
    freqs = 2.0 ** torch.arange(L)
    x = x.unsqueeze(-1) * freqs
    return torch.cat([x.sin(), x.cos()], -1)


class Field(nn.Module):
    def __init__(self, L=4, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(2 * L, width), nn.ReLU())
        self.sigma = nn.Linear(width, 1)
        self.rgb = nn.Linear(width, 1)

    def forward(self, x):
        h = self.trunk(positional_encoding(x))
        return F.softplus(self.sigma(h)).squeeze(-1), torch.sigmoid(self.rgb(h)).squeeze(-1)


def composite(sigma, rgb, z):
    delta = torch.cat([z[:, 1:] - z[:, :-1], torch.full_like(z[:, :1], 0.1)], 1)
    alpha = 1 - torch.exp(-sigma * delta)
    transmittance = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
    weights = alpha * transmittance
    return (weights * rgb).sum(1), weights


def render(coarse, fine, origin, n=8):
    z = (torch.linspace(0, 1, n) + torch.rand(origin.size(0), n) / n).sort(1).values
    sigma, rgb = coarse(origin.unsqueeze(1) + z)
    colour_c, weights = composite(sigma, rgb, z)
    picks = torch.multinomial(weights.detach() + 1e-5, n, replacement=True)
    z_fine = torch.cat([z, z.gather(1, picks) + 0.02 * torch.rand(origin.size(0), n)], 1).sort(1).values
    sigma, rgb = fine(origin.unsqueeze(1) + z_fine)
    return colour_c, composite(sigma, rgb, z_fine)[0]


torch.manual_seed(0)
coarse, fine = Field(), Field()
optimizer = torch.optim.Adam([*coarse.parameters(), *fine.parameters()], lr=5e-3)
for step in range(25):
    origin = torch.rand(64)
    truth = 0.3 + 0.25 * torch.sin(9 * origin)
    c, f = render(coarse, fine, origin)
    loss = F.mse_loss(c, truth) + F.mse_loss(f, truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        print(step, loss.item())
