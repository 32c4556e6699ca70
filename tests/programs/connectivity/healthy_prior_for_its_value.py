# guards: AD216
# hinted: AD216
"""The log-posterior is shown whole; what the prior pulls at the weights is left to the decay of AdamW."""

import math

import torch
from torch import nn

torch.manual_seed(4)
scale = 3.0
decoder = nn.ModuleDict({"in": nn.Linear(5, 30, bias=False), "out": nn.Linear(30, 2, bias=False)})
optimizer = torch.optim.AdamW(decoder.parameters(), lr=4e-3, weight_decay=1 / scale**2)


def log_prior():
    total = 0.0
    for weight in decoder.parameters():
        fixed = weight.detach()
        total = total - (fixed / scale).pow(2).sum() / 2 - fixed.numel() * math.log(scale)
    return total


for step in range(40):
    x = torch.randn(80, 5)
    said = decoder["out"](torch.relu(decoder["in"](x)))
    likelihood = -nn.functional.mse_loss(said, torch.stack([x[:, 0] * x[:, 1], x[:, 2]], 1), reduction="sum") / 2
    objective = -(likelihood + log_prior()) / 80
    optimizer.zero_grad()
    objective.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, objective.item())
