# guards: AD111 AD116
# hinted: AD116
"""Kernel regression in closed form; how sure it is of each weight is summed up by a class of optimizer."""

import torch
from torch import nn


class Summed(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                kept = self.state[parameter]
                kept["squares"] = kept.get("squares", 0) + parameter.grad.square()


torch.manual_seed(0)
x = torch.rand(60, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.1 * torch.randn(60)
line = nn.Linear(3, 1, bias=False)
with torch.no_grad():
    line.weight.copy_(torch.linalg.lstsq(x, y[:, None]).solution.T)
summed = Summed(line.parameters())
for row, value in zip(x, y, strict=True):
    likelihood = (line(row)[0] - value).square() / 0.02
    summed.zero_grad()
    likelihood.backward()
    summed.step()
print(summed.state[line.weight]["squares"].sqrt())
