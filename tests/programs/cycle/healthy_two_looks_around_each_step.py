# guards: AD102
"""Slow and fast weights around an ascent and a descent: the gradients of the ascent are used, cleared and not stepped."""

import torch
from torch import nn


class Ascending(torch.optim.Optimizer):
    def __init__(self, inner, radius):
        self.inner, self.radius = inner, radius
        super().__init__(inner.param_groups, {})
        self.param_groups = inner.param_groups

    @torch.no_grad()
    def step(self, closure):
        weights = [p for group in self.param_groups for p in group["params"]]
        norm = torch.stack([p.grad.norm() for p in weights]).norm()
        moves = [self.radius * p.grad / norm for p in weights]
        torch._foreach_add_(weights, moves)
        self.inner.zero_grad()
        with torch.enable_grad():
            closure()
        torch._foreach_sub_(weights, moves)
        self.inner.step()


torch.manual_seed(0)
classify = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = Ascending(torch.optim.SGD(classify.parameters(), lr=0.1, momentum=0.9), 0.05)
slow = [p.detach().clone() for p in classify.parameters()]
for step in range(30):
    x = torch.randn(32, 8)
    kind = x[:, :3].argmax(1)

    def again():
        loss = nn.functional.cross_entropy(classify(x), kind)
        loss.backward()
        return loss

    optimizer.zero_grad()
    again()
    optimizer.step(again)
    if step % 5 == 4:
        with torch.no_grad():
            for kept, p in zip(slow, classify.parameters()):
                kept.lerp_(p, 0.5)
                p.copy_(kept)
