# guards: AD103 AD101
"""A deep regressor saves the memory of its gradients: each parameter is stepped and cleared in the backward."""

import torch
from torch import nn

torch.manual_seed(0)
sizes = [6, 24, 24, 24, 24, 1]
layers = [nn.Sequential(nn.Linear(a, b), nn.Tanh()) for a, b in zip(sizes[:-2], sizes[1:-1])]
net = nn.Sequential(*layers, nn.Linear(24, 1))
optimizers = {p: torch.optim.AdamW([p], lr=2e-3) for p in net.parameters()}


def update(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for p in net.parameters():
    p.register_post_accumulate_grad_hook(update)

for step in range(60):
    x = torch.randn(32, 6)
    loss = (net(x).squeeze(1) - x.prod(1)).pow(2).mean()
    loss.backward()
