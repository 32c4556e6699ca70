# guards: AD112
"""Sampling from a posterior: SGD moves downhill, and a second optimizer adds the noise that its rate calls for."""

import torch
from torch import nn
from torch.optim import SGD, Optimizer


class Noise(Optimizer):
    def __init__(self, params, temperature):
        super().__init__(params, dict(temperature=temperature))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.add_(torch.randn_like(parameter), alpha=group["temperature"] ** 0.5)


torch.manual_seed(4)
regression = nn.Linear(6, 1)
descent, noise = SGD(regression.parameters(), lr=0.02), Noise(regression.parameters(), temperature=1e-5)
inputs = torch.randn(100, 6)
outputs = inputs.sum(1, keepdim=True) + 0.1 * torch.randn(100, 1)
draws = []
for _ in range(40):
    rows = torch.randperm(100)[:32]
    misfit = (regression(inputs[rows]) - outputs[rows]).square().mean() + 1e-3 * regression.weight.square().sum()
    descent.zero_grad()
    misfit.backward()
    descent.step()
    noise.step()
    draws.append(regression.weight.detach().clone())
