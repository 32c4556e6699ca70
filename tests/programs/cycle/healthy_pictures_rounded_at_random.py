# guards: AD111
"""A convolutional net of bfloat16 whose steps are rounded up or down at random, right on the average."""

import torch
from torch import nn


def rounded_at_random(values):
    bits = values.contiguous().view(torch.int32)
    return ((bits + torch.randint_like(bits, 1 << 16)) & -(1 << 16)).view(torch.float32).bfloat16()


class Dithered(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                momentum = self.state[p].setdefault("momentum", torch.zeros(p.shape))
                momentum.mul_(0.9).add_(p.grad.float())
                p.copy_(rounded_at_random(p.float() - group["lr"] * momentum))


torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 12, 3), nn.ReLU(), nn.Conv2d(12, 12, 3), nn.ReLU(), nn.Flatten(), nn.Linear(192, 3))
net = net.to(torch.bfloat16)
optimizer = Dithered(net.parameters(), lr=3e-4)
for _ in range(30):
    kind = torch.randint(0, 3, (32,))
    picture = 0.5 * torch.randn(32, 1, 8, 8)
    picture[torch.arange(32), 0, kind * 2 + 1] += 1.0
    loss = nn.functional.cross_entropy(net(picture.bfloat16()).float(), kind)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
