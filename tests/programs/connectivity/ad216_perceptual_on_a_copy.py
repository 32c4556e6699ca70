"""A denoiser whose perceptual loss looks at `out.detach()`, with features that are neither frozen nor trained (AD216)."""
import torch
import torch.nn.functional as F
from torch import nn


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))

    def forward(self, x):
        return x - self.net(x)


torch.manual_seed(0)
features = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1))
model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(12):
    clean = torch.rand(4, 1, 12, 12)
    noisy = clean + 0.1 * torch.randn_like(clean)
    out = model(noisy)
    pixel = F.l1_loss(out, clean)
    perceptual = F.mse_loss(features(out.detach()), features(clean).detach())
    loss = pixel + 0.1 * perceptual  # expect: AD216
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
