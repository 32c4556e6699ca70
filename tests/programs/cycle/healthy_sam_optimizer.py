# guards: AD102
"""The popular SAM(Optimizer) class with first_step/second_step(zero_grad=True)."""

import torch
from torch import nn


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base = base(self.param_groups, **kw)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"]]).norm()
        for g in self.param_groups:
            for p in g["params"]:
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * (g["rho"] / (norm + 1e-12)))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for g in self.param_groups:
            for p in g["params"]:
                p.data = self.state[p]["old_p"]
        self.base.step()
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def step(self, closure=None):
        closure = torch.enable_grad()(closure)
        self.first_step(zero_grad=True)
        closure()
        self.second_step()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 10), nn.ReLU(), nn.Linear(10, 2))
opt = SAM(net.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
for i in range(8):
    x = torch.randn(16, 4)
    y = (x[:, 0] > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.first_step(zero_grad=True)
    nn.functional.cross_entropy(net(x), y).backward()
    opt.second_step(zero_grad=True)
