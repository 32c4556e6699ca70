# guards: AD104
"""Accelerate accumulates, and the program asks for a step only where one is due, or asks everywhere."""

import torch
from accelerate import Accelerator
from torch import nn

torch.manual_seed(8)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)


def fit(asks):
    curve = nn.Sequential(nn.Linear(2, 10), nn.Sigmoid(), nn.Linear(10, 1))
    curve, rule = accelerator.prepare(curve, torch.optim.Adadelta(curve.parameters(), lr=0.5))
    for count in range(32):
        points = torch.rand(20, 2)
        with accelerator.accumulate(curve):
            accelerator.backward((curve(points) - points.prod(1, keepdim=True)).square().mean())
            if asks(count):
                rule.step()
                rule.zero_grad()


fit(lambda count: count % 4 == 3)
fit(lambda count: accelerator.sync_gradients)
fit(lambda count: True)
