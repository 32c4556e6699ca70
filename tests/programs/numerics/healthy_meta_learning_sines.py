# guards: AD405 AD309
"""First- and second-order meta-learning on sine tasks (functional inner step)."""

import torch
import torch.nn as nn
from torch.func import functional_call

torch.manual_seed(89)
net = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
meta = torch.optim.Adam(net.parameters(), lr=2e-3)
INNER = 0.05


def task():
    amp, ph = 0.5 + 2 * torch.rand(()), 3.14 * torch.rand(())

    def draw(n=12):
        x = torch.rand(n, 1) * 6 - 3
        return x, amp * torch.sin(x + ph)

    return draw


def adapt(params, x, y, steps=2):
    for _ in range(steps):
        loss = (functional_call(net, params, (x,)) - y).pow(2).mean()
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
        params = {k: p - INNER * g for (k, p), g in zip(params.items(), grads)}
    return params


hist = []
for it in range(48):
    total = 0.0
    for _ in range(2):
        draw = task()
        fast = adapt(dict(net.named_parameters()), *draw())
        x, y = draw()
        total = total + (functional_call(net, fast, (x,)) - y).pow(2).mean()
    meta.zero_grad()
    total.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    meta.step()
    hist.append(total.item() / 2)
    if it % 12 == 11:
        print(it + 1, sum(hist[-12:]) / 12)
