import torch
from torch import nn

torch.manual_seed(20)


class GrowthModel(nn.Module):
    """Predict a price path from daily growth factors given by covariates."""

    def __init__(self, d):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, cov):
        factor = 1.0 + nn.functional.softplus(self.f(cov).squeeze(-1) - 1.5)
        path = torch.cumprod(factor, dim=1)  # expect: AD401
        return path


def simulate(n, days, d):
    cov = torch.randn(n, days, d)
    rate = 0.01 + 0.005 * torch.tanh(cov[..., 0])
    return cov, torch.cumprod(1 + rate, 1)


model = GrowthModel(5)
opt = torch.optim.Adam(model.parameters(), lr=5e-4)
for step in range(90):
    # the horizon is lengthened by a week each step
    horizon = 30 + 7 * step
    cov, target = simulate(16, horizon, 5)
    path = model(cov)
    # relative squared error, so that far days count as much as near ones
    loss = ((path / path[:, -1:] - target / target[:, -1:]) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 8 == 0:
        print(f"{step} horizon {horizon} loss {loss.item():.5f} end {path[:, -1].mean().item():.3g}")
