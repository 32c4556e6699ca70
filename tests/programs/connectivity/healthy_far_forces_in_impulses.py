# guards: AD206
"""Learning a force field with two time scales: far neighbours act as impulses every few steps."""
from typing import List

import torch
from torch import Tensor, nn


class PairPotential(nn.Module):
    def __init__(self, n_rbf: int = 16, cutoff: float = 4.0):
        super().__init__()
        self.register_buffer("centres", torch.linspace(0.5, cutoff, n_rbf))
        self.coef = nn.Parameter(torch.zeros(n_rbf))

    def forward(self, d: Tensor) -> Tensor:
        basis = torch.exp(-((d[..., None] - self.centres) ** 2) / 0.08)
        return (basis @ self.coef).sum(-1)


def reference(d: Tensor) -> Tensor:
    return (1.0 / d**2 - 0.7 * torch.exp(-(d - 2.2) ** 2)).sum(-1)


class ImpulseTrainer:
    """Near coefficients feel the gradient at each step, far ones its sum at every k-th step."""

    def __init__(self, model: PairPotential, every: int = 6):
        self.model, self.every = model, every
        self.far = model.centres > 2.0
        self.saved = torch.zeros_like(model.coef)
        self.opt = torch.optim.SGD(model.parameters(), lr=2e-3, momentum=0.9)
        self.log: List[float] = []

    def step(self, k: int, d: Tensor) -> None:
        loss = (self.model(d) - reference(d)).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        g = self.model.coef.grad
        self.saved += g * self.far
        g.masked_fill_(self.far, 0.0)
        if k % self.every == 0:
            g += self.saved
            self.saved.zero_()
        self.opt.step()
        self.log.append(loss.item())


torch.manual_seed(4)
trainer = ImpulseTrainer(PairPotential())
for k in range(600):
    trainer.step(k, 0.6 + 3.2 * torch.rand(128, 6))
    if k % 100 == 99:
        print(k + 1, round(sum(trainer.log[-50:]) / 50, 4))
