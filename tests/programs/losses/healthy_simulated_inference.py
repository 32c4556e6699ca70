# guards: AD629
"""Amortised inference: parameters from what a simulator made of them."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Simulator:
    """Two microphones hear two sources through a room."""

    def __init__(self, noise=0.1):
        self.room = torch.tensor([[0.9, 0.4], [-0.3, 0.7]])
        self.noise = noise

    def prior(self, n):
        return torch.randn(n, 2)

    def observe(self, theta):
        heard = theta @ self.room.T
        return heard + self.noise * torch.randn_like(heard)


class Posterior(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mean, self.log_var = nn.Linear(hidden, 2), nn.Linear(hidden, 2)

    def forward(self, x):
        h = self.net(x)
        return self.mean(h), self.log_var(h)


def main():
    torch.manual_seed(0)
    simulator, posterior = Simulator(), Posterior()
    optimizer = torch.optim.Adam(posterior.parameters(), lr=3e-3)
    for step in range(80):
        theta = simulator.prior(128)
        x = simulator.observe(theta)
        mean, log_var = posterior(x)
        point = F.mse_loss(mean, theta)
        spread = F.mse_loss(log_var, (mean.detach() - theta).square().log().clamp(min=-8))
        loss = point + 0.1 * spread
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(step, point.item())


main()
