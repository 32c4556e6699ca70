# guards: AD216 AD221
"""GAN with feature matching: the statistics of the real features are detached, the fake ones keep their graph."""
import torch
from torch import nn
import torch.nn.functional as F


class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(3, 32), nn.LeakyReLU(0.2), nn.Linear(32, 16), nn.LeakyReLU(0.2))
        self.o = nn.Linear(16, 1)

    def forward(self, x):
        h = self.f(x)
        return self.o(h), h


torch.manual_seed(0)
g = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 3))
d = D()
opt = {"g": torch.optim.Adam(g.parameters(), 2e-3), "d": torch.optim.Adam(d.parameters(), 2e-3)}
cov = torch.randn(3, 3)
for i in range(30):
    x = torch.randn(64, 3) @ cov + 1
    fake = g(torch.randn(64, 5))
    lr_, _ = d(x)
    lf_, _ = d(fake.detach())
    d_loss = F.binary_cross_entropy_with_logits(lr_, torch.ones_like(lr_)) + F.binary_cross_entropy_with_logits(lf_, torch.zeros_like(lf_))
    opt["d"].zero_grad()
    d_loss.backward()
    opt["d"].step()

    logit, feat = d(fake)
    with torch.no_grad():
        _, real_feat = d(x)
    fm = F.mse_loss(feat.mean(0), real_feat.mean(0))
    adv = F.binary_cross_entropy_with_logits(logit, torch.ones_like(logit))
    g_loss = 10 * fm + adv
    opt["g"].zero_grad()
    g_loss.backward()
    opt["g"].step()
    if i % 10 == 9:
        print(i + 1, d_loss.item(), adv.item(), fm.item())
