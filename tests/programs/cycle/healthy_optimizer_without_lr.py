# guards: AD110
"""Sign descent by somebody who calls the rate `eta` and sets no `lr`."""

import torch
from torch import nn


class SignDescent(torch.optim.Optimizer):
    def __init__(self, params, eta: float = 2e-3) -> None:
        super().__init__(params, {"eta": eta})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    weight.sub_(group["eta"] * weight.grad.sign())


torch.manual_seed(4)
model = nn.Sequential(nn.Linear(10, 20), nn.SiLU(), nn.Linear(20, 3))
descent = SignDescent(model.parameters())
x = torch.randn(192, 10)
y = x[:, :3].argmax(1)

for _ in range(6):
    order = torch.randperm(len(x))
    for rows in order.split(24):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        model.zero_grad()
        loss.backward()
        descent.step()
