# guards: AD720
"""Deep hedging toy: the network learns the price of a call as function of shock and volatility draw;
the test scenarios are moment matched normals (variance reduction, as usual in Monte Carlo)."""
import torch
from torch import nn

torch.manual_seed(0)


def normals(n, matched=False):
    z = torch.randn(n, 3, dtype=torch.float64)
    if matched:  # antithetic, and rescaled to unit variance
        z = torch.cat([z[: n // 2], -z[: n // 2]])
        z = z / z.std(0, unbiased=False)
        z = z[torch.randperm(n)]
    return z.float()


def payoff(z):
    return (torch.exp(0.2 * z.sum(1) / 3**0.5) - 1.0).clamp(min=0)


model = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), 1e-3)
scenarios = normals(1024, matched=True)
for epoch in range(8):
    model.train()
    for _ in range(25):
        z = normals(256)
        loss = (model(z).squeeze(1) - payoff(z)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        price = torch.cat([model(c) for c in scenarios.split(256)]).mean()
    print(epoch, f"{loss.item():.5f} price {price.item():.4f} mc {payoff(scenarios).mean().item():.4f}")
