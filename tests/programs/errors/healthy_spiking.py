# guards: AD507 AD408
"""Leaky integrate-and-fire layer with a surrogate derivative for the spike."""

import torch
import torch.nn as nn

torch.manual_seed(83)


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).float()

    @staticmethod
    def backward(ctx, g):
        (v,) = ctx.saved_tensors
        return g / (1 + 5 * v.abs()) ** 2


class SNN(nn.Module):
    def __init__(self, steps=12):
        super().__init__()
        self.steps = steps
        self.a, self.b = nn.Linear(10, 48), nn.Linear(48, 3)

    def forward(self, x):
        v = torch.zeros(len(x), 48)
        out, rate = 0.0, 0.0
        for _ in range(self.steps):
            v = 0.8 * v + self.a(x)
            s = Spike.apply(v - 1.0)
            v = v - s.detach()
            out = out + self.b(s)
            rate = rate + s.mean()
        return out / self.steps, rate / self.steps


rule = torch.randn(10, 3)
net = SNN()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(100):
    x = torch.randn(64, 10)
    y = (x @ rule).argmax(1)
    out, rate = net(x)
    loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, f"{loss.item():.4f} acc {(out.argmax(1) == y).float().mean():.2f} rate {rate:.3f}")
