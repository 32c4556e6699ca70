# guards: AD111
"""Weights of -1 and 1 without hidden ones: a weight flips where its averaged gradient has pushed long enough."""

import torch
from torch import nn


class Flips(torch.optim.Optimizer):
    def __init__(self, parameters, pace=0.02, threshold=1e-3):
        super().__init__(parameters, {"pace": pace, "threshold": threshold})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for weight in group["params"]:
                push = self.state[weight].setdefault("push", torch.zeros_like(weight))
                push.lerp_(weight.grad, group["pace"])
                flip = (push.abs() > group["threshold"]) & (push.sign() == weight.sign())
                weight[flip] = -weight[flip]


class Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs).sign())
        self.norm = nn.BatchNorm1d(outputs)

    def forward(self, x):
        return self.norm(x @ self.weight.t())


torch.manual_seed(0)
model = nn.Sequential(Block(16, 64), nn.Hardtanh(), Block(64, 32), nn.Hardtanh(), Block(32, 2))
flips = Flips([part.weight for part in model if isinstance(part, Block)])
adam = torch.optim.Adam([p for part in model if isinstance(part, Block) for p in part.norm.parameters()], lr=0.01)
true = torch.randn(16)
for step in range(80):
    x = torch.randn(128, 16)
    loss = nn.functional.cross_entropy(model(x), (x @ true > 0).long())
    flips.zero_grad()
    adam.zero_grad()
    loss.backward()
    flips.step()
    adam.step()
    if step % 20 == 0:
        print(step, loss.item())
