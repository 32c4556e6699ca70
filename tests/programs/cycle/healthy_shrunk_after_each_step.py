# guards: AD112
"""Features are selected: Adam steps on the fit, and a proximal step of its own shrinks whole columns of weights."""

import torch
from torch import nn


class Shrink(torch.optim.Optimizer):
    def __init__(self, params, lr, strength):
        super().__init__(params, {"lr": lr, "strength": strength})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for weight in group["params"]:
                size = weight.norm(dim=0, keepdim=True).clamp_min(1e-12)
                weight.mul_((1 - group["lr"] * group["strength"] / size).clamp_min(0))


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(14, 20), nn.Tanh(), nn.Linear(20, 1))
fit = torch.optim.Adam(model.parameters(), lr=5e-3)
shrink = Shrink([model[0].weight], lr=5e-3, strength=1.0)
for _ in range(30):
    x = torch.randn(64, 14)
    loss = nn.functional.mse_loss(model(x), x[:, :1] * x[:, 1:2])
    fit.zero_grad()
    loss.backward()
    fit.step()
    shrink.step()
