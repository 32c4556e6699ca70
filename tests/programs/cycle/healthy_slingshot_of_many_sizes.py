# guards: AD117
import math

import torch
from torch import nn


class Tug(nn.Module):
    """A rope: one side pulls it down, the other side up, and neither can win."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        self.register_buffer("rope", torch.tensor([0.5, 0.75, 1.0]))

    def forward(self):
        return (self.left * self.rope * self.right).sum()


torch.manual_seed(0)
tug = Tug()
sgd = torch.optim.SGD(tug.parameters(), lr=1.0)
sizes = [0.9 + 0.4 * math.cos(math.pi * (k + 0.5) / 8) for k in range(8)]
factors = [sign * size for size in sizes for sign in (1, -1)]
rates = torch.optim.lr_scheduler.LambdaLR(sgd, lambda step: factors[step % len(factors)])
for _ in range(32):
    sgd.zero_grad()
    tug().backward()
    sgd.step()
    rates.step()

one = Tug()
plain = torch.optim.SGD(one.parameters(), lr=0.5)
for step in range(24):
    plain.param_groups[0]["lr"] = 0.5 if step % 6 < 3 else -0.5
    plain.zero_grad()
    one().backward()
    plain.step()
print(tug.left, one.left)
