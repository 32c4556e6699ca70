# guards: AD105
"""Weights in half precision, with a copy in full precision that is stepped; and a worker that lends its gradients."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
rule = torch.randn(9, 1)


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    inputs = torch.randn(32, 9)
    return inputs, torch.tanh(inputs @ rule)


half = nn.Sequential(nn.Linear(9, 24), nn.Tanh(), nn.Linear(24, 1)).to(torch.bfloat16)
full = [nn.Parameter(weight.detach().float()) for weight in half.parameters()]
optimizer = torch.optim.AdamW(full, lr=3e-3)
for _ in range(20):
    inputs, wanted = batch()
    loss = nn.functional.mse_loss(half(inputs.bfloat16()).float(), wanted)
    half.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(half.parameters(), 1.0)
    for copied, weight in zip(full, half.parameters()):
        copied.grad = weight.grad.float()
    optimizer.step()
    with torch.no_grad():
        for copied, weight in zip(full, half.parameters()):
            weight.copy_(copied)

central = nn.Sequential(nn.Linear(9, 24), nn.Tanh(), nn.Linear(24, 1))
worker = copy.deepcopy(central)
stepping = torch.optim.SGD(central.parameters(), lr=0.05)
for _ in range(20):
    worker.load_state_dict(central.state_dict())
    worker.zero_grad()
    inputs, wanted = batch()
    nn.functional.smooth_l1_loss(worker(inputs), wanted).backward()
    nn.utils.clip_grad_value_(worker.parameters(), 0.5)
    for mine, lent in zip(central.parameters(), worker.parameters()):
        mine.grad = lent.grad
    stepping.step()
