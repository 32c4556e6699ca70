import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


class SpectraVAE(nn.Module):
    def __init__(self, bins=40, z=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(bins, 48), nn.GELU(), nn.Linear(48, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, 48), nn.GELU(), nn.Linear(48, bins))

    def forward(self, x):
        mu, log_sigma = self.enc(x).chunk(2, -1)
        z = mu + log_sigma.exp() * torch.randn_like(mu)
        return self.dec(z), mu, log_sigma


def objective(out, x, mu, log_sigma):
    kld = 0.5 * torch.sum(torch.exp(2 * log_sigma) + mu**2 - 1 - 2 * log_sigma)
    kld = kld / x.shape[0]
    return F.mse_loss(out, x) + kld  # <- AD628


bins = torch.linspace(0, 1, 40)
model = SpectraVAE()
optim = torch.optim.AdamW(model.parameters(), lr=2e-3)
for i in range(320):
    peak = torch.rand(16, 1)
    x = torch.exp(-(((bins - peak) / 0.07) ** 2)) + 0.02 * torch.randn(16, 40)
    out, mu, log_sigma = model(x)
    loss = objective(out, x, mu, log_sigma)
    optim.zero_grad(set_to_none=True)
    loss.backward()
    optim.step()
    if i % 100 == 0:
        print(i, loss.item())
