# guards: AD206
"""A bfloat16 network keeps what rounding would lose in float32 parameters, to which it gives gradients itself."""

import torch
from torch import nn


class Masters:
    def __init__(self, module, make):
        self.pairs = [(p, nn.Parameter(p.detach().float(), requires_grad=False)) for p in module.parameters()]
        self.optimizer = make([master for _, master in self.pairs])

    def step(self):
        for parameter, master in self.pairs:
            master.grad = None if parameter.grad is None else parameter.grad.float()
            parameter.grad = None
        self.optimizer.step()
        for parameter, master in self.pairs:
            parameter.data.copy_(master.data)


torch.manual_seed(3)
net = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 1)).bfloat16()
masters = Masters(net, lambda values: torch.optim.SGD(values, lr=0.02, momentum=0.9))
for _ in range(30):
    x = torch.randn(32, 12)
    loss = nn.functional.mse_loss(net(x.bfloat16()).float(), x.mean(1, keepdim=True))
    loss.backward()
    masters.step()
