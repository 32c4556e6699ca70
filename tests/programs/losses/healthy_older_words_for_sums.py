# guards: AD628 AD114
"""Losses that say in older words how they are reduced: a codec of frames, and counts of rare events."""
import warnings

import torch
import torch.nn.functional as F
from torch import nn

warnings.filterwarnings("ignore", message="size_average and reduce")
torch.manual_seed(2)


class Codec(nn.Module):
    """Frames of sound, through a Gaussian bottleneck."""

    def __init__(self, frame=24, code=3):
        super().__init__()
        self.analysis = nn.Sequential(nn.Linear(frame, 32), nn.Tanh(), nn.Linear(32, 2 * code))
        self.synthesis = nn.Sequential(nn.Linear(code, 32), nn.Tanh(), nn.Linear(32, frame))

    def forward(self, frames):
        mean, log_var = self.analysis(frames).chunk(2, dim=-1)
        code = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        return self.synthesis(code), mean, log_var


def sounds(count):
    time = torch.arange(24.0) / 24
    pitch = 1 + 3 * torch.rand(count, 1)
    return torch.sin(6.28 * pitch * time) + 0.05 * torch.randn(count, 24)


codec = Codec()
optimizer = torch.optim.Adam(codec.parameters(), lr=3e-3)
for _ in range(30):
    frames = sounds(40)
    heard, mean, log_var = codec(frames)
    distortion = F.mse_loss(heard, frames, size_average=False)
    rate = -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())
    optimizer.zero_grad()
    (distortion + rate).backward()
    optimizer.step()

counter = nn.Linear(5, 1)
optimizer = torch.optim.SGD(counter.parameters(), lr=1e-3)
for _ in range(20):
    site = torch.randn(30, 5)
    seen = torch.poisson((0.4 * site[:, :1]).exp())
    losses = F.poisson_nll_loss(counter(site), seen, reduce=False)
    optimizer.zero_grad()
    losses.sum().backward()
    optimizer.step()
