"""Weights of bfloat16 with a compensation for each that is computed in every step and goes into none."""

import torch
from torch import nn


class Compensated(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                momentum = state.setdefault("momentum", torch.zeros_like(p))
                momentum.mul_(0.9).add_(p.grad)
                wished = -group["lr"] * momentum
                moved = p + wished
                state["lost"] = wished - (moved - p)
                p.copy_(moved)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1)).to(torch.bfloat16)
optimizer = Compensated(model.parameters(), lr=1e-4)
for _ in range(40):
    x = torch.randn(64, 16)
    loss = (model(x.bfloat16()).float() - x.mean(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # expect: AD111
