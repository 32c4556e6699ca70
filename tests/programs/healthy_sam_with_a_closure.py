"""Sharpness-aware minimisation as an optimizer around another: climb along the gradient, then step from there."""

import torch
from torch import nn
from torch.nn import functional as F


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **options):
        super().__init__(params, {"rho": rho, **options})
        self.base = base(self.param_groups, **options)

    @torch.no_grad()
    def climb(self):
        norm = torch.stack([p.grad.norm() for group in self.param_groups for p in group["params"]]).norm() + 1e-12
        for group in self.param_groups:
            for p in group["params"]:
                move = p.grad * (group["rho"] / norm)
                p.add_(move)
                self.state[p]["move"] = move
        self.zero_grad()

    def step(self, closure):
        closure = torch.enable_grad()(closure)
        loss = closure()
        self.climb()
        closure()
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    p.sub_(self.state[p]["move"])
        self.base.step()
        self.zero_grad()
        return loss


torch.manual_seed(0)
centres = torch.randn(4, 12)
labels = torch.randint(0, 4, (600,))
data = centres[labels] + torch.randn(600, 12)
net = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 4))
optimizer = SAM(net.parameters(), torch.optim.SGD, lr=0.05, momentum=0.9)
for epoch in range(4):
    for rows in torch.randperm(600).split(50):

        def closure():
            loss = F.cross_entropy(net(data[rows]), labels[rows])
            loss.backward()
            return loss

        loss = optimizer.step(closure)
    print(epoch, loss.item())
