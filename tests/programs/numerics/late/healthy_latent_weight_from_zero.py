# guards: AD410
"""A variational autoencoder whose divergence counts nothing at first: what spreads the codes gets zeros until then."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
enter = nn.Sequential(nn.Linear(10, 24), nn.SiLU())
mean, spread = nn.Linear(24, 3), nn.Linear(24, 3)
leave = nn.Sequential(nn.Linear(3, 24), nn.SiLU(), nn.Linear(24, 10))
parts = nn.ModuleList([enter, mean, spread, leave])
optimizer = torch.optim.Adam(parts.parameters(), lr=3e-3)
mixing = torch.randn(3, 10)
for step in range(100):
    weight = 0.0 if step < 60 else 0.1
    x = torch.randn(32, 3) @ mixing
    hidden = enter(x)
    centre, log_variance = mean(hidden), spread(hidden)
    noise = torch.randn_like(centre) if weight else torch.zeros_like(centre)
    code = centre + noise * (0.5 * log_variance).exp()
    divergence = 0.5 * (centre.square() + log_variance.exp() - log_variance - 1).sum(1).mean()
    loss = F.mse_loss(leave(code), x) + weight * divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
