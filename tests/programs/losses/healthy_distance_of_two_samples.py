# guards: AD616
"""Simulated waiting times, judged by how far their distribution is from measured ones: a kernel's mean discrepancy."""

import torch
from torch import nn


class Simulator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 1), nn.Softplus())

    def forward(self, count):
        return self.net(torch.randn(count, 3))


def kernel(difference):
    return torch.exp(-difference.square() / 2)


@torch.no_grad()
def discrepancy(made, measured):
    across = kernel(made - measured).mean()
    within = kernel(made - made.T).mean() + kernel(measured[:, None] - measured[None, :]).mean()
    return (within - 2 * across).item()


torch.manual_seed(2)
simulator = Simulator()
optimizer = torch.optim.Adam(simulator.parameters(), lr=5e-3)
held_out = torch.distributions.Gamma(2.0, 1.5).sample((120,))
for step in range(40):
    real = torch.distributions.Gamma(2.0, 1.5).sample((64,))
    made = simulator(64).squeeze(1)
    loss = (made.sort().values - real.sort().values).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step, loss.item(), discrepancy(simulator(120), held_out))
