# guards: AD628
"""A forecaster whose summed penalty on rough curves is turned into a mean in place, step by step."""

import torch
from torch import nn

torch.manual_seed(5)
HORIZON = 12
net = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 2 * HORIZON))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)


def divergence_from_prior(mean, log_var):
    total = (mean**2 + log_var.exp() - log_var - 1).sum()
    total.mul_(0.5)
    total.div_(mean.shape[0])
    total /= mean.shape[1]
    return total


for step in range(350):
    phase = 6.28 * torch.rand(64, 1)
    wave = torch.sin(phase + 0.3 * torch.arange(24 + HORIZON))
    mean, log_var = net(wave[:, :24]).chunk(2, dim=1)
    drawn = mean + (0.5 * log_var).exp() * torch.randn_like(mean)
    loss = nn.functional.mse_loss(drawn, wave[:, 24:])
    loss = loss + 1e-2 * divergence_from_prior(mean, log_var)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
