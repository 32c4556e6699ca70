"""Contrastive scores of unit vectors, divided in place as attention scores are (AD624)."""
import torch
import torch.nn.functional as F
from torch import nn


class Tower(nn.Module):
    def __init__(self, d_in):
        super().__init__()
        self.proj = nn.Sequential(nn.Linear(d_in, 64), nn.ReLU(), nn.Linear(64, 128))

    def forward(self, x):
        return F.normalize(self.proj(x), dim=-1)


torch.manual_seed(0)
image, text = Tower(24), Tower(16)
opt = torch.optim.Adam([*image.parameters(), *text.parameters()], lr=1e-3)
for step in range(8):
    base = torch.randn(32, 8)
    a = image(torch.cat([base, base, base], 1) + 0.1 * torch.randn(32, 24))
    b = text(torch.cat([base, -base], 1) + 0.1 * torch.randn(32, 16))
    scores = a @ b.t()
    scores /= 128 ** 0.5
    labels = torch.arange(len(a))
    loss = (F.cross_entropy(scores, labels) + F.cross_entropy(scores.t(), labels)) / 2  # expect: AD624
    opt.zero_grad()
    loss.backward()
    opt.step()
