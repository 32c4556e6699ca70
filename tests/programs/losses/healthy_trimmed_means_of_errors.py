# guards: AD635
"""A sensor with outliers: the smaller errors count, chosen by a mask, by weights of 0 and 1, or by rank."""
import torch
from torch import nn

torch.manual_seed(19)


def by_mask(error, keep):
    return error[error.detach() <= torch.quantile(error.detach(), keep)].mean()


def by_weights(error, keep):
    small = torch.where(error.detach() <= torch.quantile(error.detach(), keep), 1, 0)
    return (error * small).sum() / small.sum()


def by_rank(error, keep):
    small = torch.where(error.detach() <= torch.quantile(error.detach(), keep), 1, 0)
    return error[torch.nonzero(small)[:, 0]].mean()


net = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.RMSprop(net.parameters(), lr=2e-3)
for step in range(42):
    x = torch.randn(32, 5)
    y = x[:, 0] - x[:, 1].abs() + 5 * torch.randn(32) * (torch.rand(32) < 0.1)
    error = (net(x).squeeze(1) - y).abs()
    loss = (by_mask, by_weights, by_rank)[step % 3](error, 0.8)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
