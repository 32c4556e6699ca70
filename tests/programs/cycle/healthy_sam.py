# guards: AD102
"""Sharpness-aware minimisation: two forwards and backwards for every step, the weights climb in between."""

import torch
from torch import nn


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = torch.norm(torch.stack([p.grad.norm() for group in self.param_groups for p in group["params"]]))
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad, alpha=group["rho"] / (norm.item() + 1e-12))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 4))
optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
centers = torch.randn(4, 12)
for step in range(30):
    y = torch.randint(0, 4, (64,))
    x = centers[y] + torch.randn(64, 12)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.first_step(zero_grad=True)
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.second_step(zero_grad=True)
    if step % 10 == 0:
        print(step, loss.item())
