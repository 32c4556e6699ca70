# guards: AD109
"""A chain that hangs under a load which grows: its shape at each load is found by an L-BFGS of its own."""

import torch
from torch import nn


class Chain(nn.Module):
    def __init__(self, links):
        super().__init__()
        self.angles = nn.Parameter(torch.linspace(-0.6, 0.6, links))

    def energy(self, load, span):
        steps = torch.stack([self.angles.cos(), self.angles.sin()], dim=1)
        joints = steps.cumsum(dim=0)
        bending = self.angles.diff().square().sum()
        weight = load * joints[:, 1].mean()
        miss = (joints[-1] - torch.tensor([span, 0.0])).square().sum()
        return bending + weight + 50 * miss


def settle(chain, load, span):
    solver = torch.optim.LBFGS(chain.parameters(), max_iter=20, line_search_fn="strong_wolfe")

    def closure():
        solver.zero_grad()
        energy = chain.energy(load, span)
        energy.backward()
        return energy

    solver.step(closure)
    with torch.no_grad():
        return chain.energy(load, span).item()


chain = Chain(6)
for tenth in range(8):
    energy = settle(chain, torch.tensor(1.0 + 0.4 * (tenth % 3)), 5.1 - 0.12 * tenth)
    print(tenth, round(energy, 4))
