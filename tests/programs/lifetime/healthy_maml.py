# guards: AD309 AD303
"""MAML on sine waves: an inner loop of differentiable updates, an outer optimizer."""
import math

import torch
import torch.nn.functional as F


def init_params(hidden=24):
    sizes = [(hidden, 1), (hidden, hidden), (1, hidden)]
    params = []
    for out, inp in sizes:
        params.append((torch.randn(out, inp) * math.sqrt(2 / inp) * 0.7).requires_grad_())
        params.append(torch.zeros(out, requires_grad=True))
    return params


def forward(params, x):
    w1, b1, w2, b2, w3, b3 = params
    h = torch.relu(F.linear(x, w1, b1))
    h = torch.relu(F.linear(h, w2, b2))
    return F.linear(h, w3, b3)


def sample_task():
    amplitude, phase = 0.5 + torch.rand(()), math.pi * torch.rand(())

    def draw(n):
        x = 4 * torch.rand(n, 1) - 2
        return x, amplitude * torch.sin(x + phase)

    return draw


def adapt(params, x, y, lr=0.05, steps=2):
    fast = params
    for _ in range(steps):
        loss = F.mse_loss(forward(fast, x), y)
        grads = torch.autograd.grad(loss, fast, create_graph=True)
        fast = [p - lr * g for p, g in zip(fast, grads)]
    return fast


if __name__ == "__main__":
    torch.manual_seed(0)
    params = init_params()
    meta_optimizer = torch.optim.Adam(params, lr=3e-3)
    for iteration in range(25):
        meta_loss = 0.0
        for _ in range(4):
            draw = sample_task()
            fast = adapt(params, *draw(10))
            x, y = draw(10)
            meta_loss = meta_loss + F.mse_loss(forward(fast, x), y) / 4
        meta_optimizer.zero_grad()
        meta_loss.backward()
        meta_optimizer.step()
        if iteration % 8 == 0:
            print(iteration, meta_loss.item())
