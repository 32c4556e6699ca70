# guards: AD102 AD103
"""Every parameter has an optimizer of its own that steps in a hook, as soon as the gradient is there."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
optimizers = {p: torch.optim.Adam([p], lr=1e-2, foreach=False) for p in model.parameters()}


def step_now(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for p in model.parameters():
    p.register_post_accumulate_grad_hook(step_now)

for step in range(25):
    x = torch.randn(40, 8)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > x[:, 1]).long())
    loss.backward()
    if step % 8 == 0:
        print(step, loss.item())
