# guards: AD629
import torch
import torch.nn.functional as F
from torch import nn


def extract(a, t, x_shape):
    return a.gather(-1, t).reshape(len(t), *((1,) * (len(x_shape) - 1)))


class Denoiser(nn.Module):
    def __init__(self, steps, width=64):
        super().__init__()
        self.time = nn.Embedding(steps, width)
        self.inp, self.mid, self.out = nn.Linear(2, width), nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t))
        return self.out(F.silu(self.mid(h)))


class GaussianDiffusion(nn.Module):
    def __init__(self, model, timesteps=50):
        super().__init__()
        self.model = model
        self.num_timesteps = timesteps
        abar = torch.cumprod(1 - torch.linspace(1e-3, 0.1, timesteps), 0)
        self.register_buffer("sqrt_abar", abar.sqrt())
        self.register_buffer("sqrt_one_minus_abar", (1 - abar).sqrt())

    def q_sample(self, x_start, t, noise=None):
        noise = torch.randn_like(x_start) if noise is None else noise
        return extract(self.sqrt_abar, t, x_start.shape) * x_start + extract(self.sqrt_one_minus_abar, t, x_start.shape) * noise

    def forward(self, x_start):
        t = torch.randint(0, self.num_timesteps, (x_start.shape[0],))
        noise = torch.randn_like(x_start)
        return self.model(self.q_sample(x_start, t, noise), t), noise


def ring(n):
    angle = 6.2832 * torch.rand(n)
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(n, 2)


torch.manual_seed(0)
diffusion = GaussianDiffusion(Denoiser(50))
opt = torch.optim.Adam(diffusion.parameters(), lr=2e-3)
for step in range(60):
    pred, noise = diffusion(ring(128))
    loss = F.mse_loss(pred, noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
