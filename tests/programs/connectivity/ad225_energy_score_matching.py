import math

import torch
import torch.nn as nn


class EnergyNet(nn.Module):
    def __init__(self, dim=2, hidden=64, depth=3):
        super().__init__()
        layers = []
        for i in range(depth):
            layers += [nn.Linear(dim if i == 0 else hidden, hidden), nn.LeakyReLU(0.2, inplace=True)]
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)

    def score(self, x):
        return -torch.autograd.grad(self(x).sum(), x, create_graph=True)[0]


def exact_score_matching(model, samples):
    """Hyvarinen 2005, eq. 4"""
    samples.requires_grad_(True)
    s = model.score(samples)
    norm = 0.5 * s.pow(2).sum(dim=1)
    trace = torch.zeros(len(samples))
    for d in range(samples.shape[1]):
        trace = trace + torch.autograd.grad(s[:, d].sum(), samples, create_graph=True, retain_graph=True)[0][:, d]  # <- AD225
    return (norm + trace).mean()


def two_moons(n):
    side = torch.randint(0, 2, (n,)).float()
    phi = math.pi * torch.rand(n)
    x = torch.stack([phi.cos() + side - 0.5, (1 - 2 * side) * (phi.sin() - 0.25)], dim=1)
    return x + 0.08 * torch.randn(n, 2)


if __name__ == "__main__":
    torch.manual_seed(3)
    net = EnergyNet()
    opt = torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.9))
    for it in range(60):
        loss = exact_score_matching(net, two_moons(128))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if it % 10 == 0:
            print(f"iter {it:4d}  J(theta) = {loss.item():.4f}")
