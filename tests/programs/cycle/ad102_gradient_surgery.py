"""PCGrad; the projected gradients are computed and never written back."""

import random
import torch
from torch import nn


class PCGrad:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.params = [p for g in optimizer.param_groups for p in g["params"]]

    def _flat(self, loss):
        self.optimizer.zero_grad()
        loss.backward(retain_graph=True)
        return torch.cat([(p.grad if p.grad is not None else torch.zeros_like(p)).flatten() for p in self.params])

    def project(self, grads):
        out = []
        for g in grads:
            g = g.clone()
            for other in random.sample(grads, len(grads)):
                dot = g @ other
                if dot < 0:
                    g -= dot / other.norm() ** 2 * other
            out.append(g)
        return torch.stack(out).sum(0)

    def step(self, losses):
        merged = self.project([self._flat(l) for l in losses])
        self.optimizer.zero_grad()  # expect: AD102
        offset = 0
        for p in self.params:
            n = p.numel()
            offset += n
        self.optimizer.step()


random.seed(0)
torch.manual_seed(0)
trunk, left, right = nn.Linear(5, 11), nn.Linear(11, 1), nn.Linear(11, 1)
pc = PCGrad(torch.optim.Adam([*trunk.parameters(), *left.parameters(), *right.parameters()], lr=1e-3))
for it in range(8):
    x = torch.randn(14, 5)
    h = torch.relu(trunk(x))
    a, b = (left(h) - x[:, :1]).pow(2).mean(), (right(h) + x[:, :1]).pow(2).mean()
    pc.step([a, b])
    print(it, a.item(), b.item())
