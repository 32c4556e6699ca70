# guards: AD604
# hinted: AD604
# Claim sizes of an insurer: the whole quantile function Q(tau) is fitted at once (simultaneous quantile regression).
# In each step, fresh levels tau meet a fresh sample of claims. The pinball loss of a level is an expectation over
# claims, so each level is scored on every claim of the sample.
import math

import torch
from torch import nn


class QuantileFunction(nn.Module):
    """Monotone in tau: the weights on the path of tau are positive."""

    def __init__(self, width=16):
        super().__init__()
        self.a = nn.Parameter(torch.randn(1, width) * 0.5)
        self.b = nn.Parameter(torch.randn(width))
        self.c = nn.Parameter(torch.randn(width, 1) * 0.5 - 2)
        self.d = nn.Parameter(torch.zeros(1))

    def forward(self, tau):
        z = torch.logit(tau)
        return (
            torch.tanh(z @ nn.functional.softplus(self.a) + self.b) @ nn.functional.softplus(self.c) + self.d + 0.2 * z
        )


def pinball(quantile, claim, tau):
    diff = claim - quantile
    return torch.maximum(tau * diff, (tau - 1) * diff)


def main(n=64, steps=400):
    torch.manual_seed(22)
    claims = torch.distributions.LogNormal(0.0, 0.8).sample((6000,))
    claims = torch.where(torch.rand(6000) < 0.1, claims * 6, claims).log()
    train, test = claims[:5000], claims[5000:]
    mean, std = train.mean(), train.std()
    train = (train - mean) / std
    q = QuantileFunction()
    opt = torch.optim.Adam(q.parameters(), lr=1e-2)
    decay = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: 0.5 * (1 + math.cos(math.pi * s / steps)))
    average = None
    for step in range(steps):
        claim = train[torch.randint(len(train), (n,))]
        tau = torch.rand(n, 1) * 0.98 + 0.01
        loss = pinball(q(tau), claim, tau).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        decay.step()
        average = loss.item() if average is None else 0.97 * average + 0.03 * loss.item()
        if step % 100 == 99:
            print(f"step {step + 1}: pinball {average:.4f}")
    with torch.no_grad():
        for level in (0.05, 0.25, 0.5, 0.75, 0.95):
            value = q(torch.tensor([[level]])).item() * std + mean
            print(
                f"  level {level:.2f}: quantile {math.exp(value):7.3f}, covers {(test <= value).float().mean():.3f} of the test claims"
            )


main()
