# guards: AD216
"""Mixture density network by generalised EM: responsibilities detached, log-sum-exp shifted by its detached maximum."""
import math

import torch
from torch import nn


class MDN(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.h = nn.Sequential(nn.Linear(1, 24), nn.Tanh())
        self.pi, self.mu, self.ls = nn.Linear(24, k), nn.Linear(24, k), nn.Linear(24, k)

    def joint(self, x, y):
        h = self.h(x)
        ls = self.ls(h).clamp(-3, 2)
        logn = -0.5 * ((y - self.mu(h)) / ls.exp()) ** 2 - ls - 0.5 * math.log(2 * math.pi)
        return self.pi(h).log_softmax(-1) + logn


def stable_lse(t):
    m = t.max(dim=-1, keepdim=True).values.detach()
    return (m + (t - m).exp().sum(-1, keepdim=True).log()).squeeze(-1)


def main():
    torch.manual_seed(0)
    model = MDN()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    y = torch.rand(300, 1) * 4 - 2
    x = y + 0.8 * torch.sin(3 * y) + 0.05 * torch.randn_like(y)
    for it in range(40):
        joint = model.joint(x, y)
        if it < 20:
            r = joint.softmax(-1).detach()
            loss = -(r * joint).sum(-1).mean()
        else:
            loss = -stable_lse(joint).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 10 == 9:
            with torch.no_grad():
                print(it + 1, "nll", -stable_lse(model.joint(x, y)).mean().item())


main()
