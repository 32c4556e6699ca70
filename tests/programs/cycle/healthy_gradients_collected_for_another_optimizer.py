# guards: AD112 AD102 AD114
"""Names of rivers and of hills are told apart; an optimizer of its own collects four gradients, and steps another."""

import torch
from torch import nn

RIVERS = "donau elbe oder weser isar inn neckar saale havel spree aller leine".split()
HILLS = "brocken arber kandel belchen feldberg wasserkuppe zugspitze watzmann hochfelln kreuzberg inselsberg".split()


class Collecting(torch.optim.Optimizer):
    def __init__(self, inner, times):
        self.inner, self.times, self.turn = inner, times, 0
        super().__init__([p for group in inner.param_groups for p in group["params"]], dict(times=times))

    @torch.no_grad()
    def step(self, closure=None):
        self.turn += 1
        held = [p for group in self.param_groups for p in group["params"]]
        for p in held:
            sum_of = self.state[p].setdefault("sum", torch.zeros_like(p))
            sum_of += p.grad / self.times
            p.grad.zero_()
        if self.turn % self.times == 0:
            for p in held:
                p.grad.copy_(self.state[p]["sum"])
                self.state[p]["sum"].zero_()
            self.inner.step()
            self.inner.zero_grad(set_to_none=False)


def letters(name):
    return torch.tensor([name.count(chr(97 + i)) for i in range(26)], dtype=torch.float32)


torch.manual_seed(0)
x = torch.stack([letters(name) for name in RIVERS + HILLS])
y = torch.tensor([0.0] * len(RIVERS) + [1.0] * len(HILLS))
model = nn.Sequential(nn.Linear(26, 16), nn.Tanh(), nn.Linear(16, 1), nn.Flatten(0))
optimizer = Collecting(torch.optim.Adam(model.parameters(), lr=0.02), times=4)
for _ in range(60):
    rows = torch.randperm(len(x))[:8]
    nn.functional.binary_cross_entropy_with_logits(model(x[rows]), y[rows]).backward()
    optimizer.step()
