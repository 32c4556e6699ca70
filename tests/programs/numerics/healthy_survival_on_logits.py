# guards: AD401
"""Discrete-time survival with the likelihood written on the logits."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(15)
BINS = 10

n = 500
x = torch.randn(n, 6)
risk = 2.5 * x[:, 0] - 1.5 * x[:, 1]
time = torch.clamp(5 - 1.8 * risk, 0, BINS - 1).long()
event = torch.rand(n) < 0.8

died = torch.zeros(n, BINS)
at_risk = torch.zeros(n, BINS)
for i in range(n):
    at_risk[i, : time[i] + 1] = 1
    if event[i]:
        died[i, time[i]] = 1


class HazardNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, BINS))

    def forward(self, x):
        return self.layers(x)


def neg_loglik(z, d, r):
    ll = d * F.logsigmoid(z) + (r - d) * F.logsigmoid(-z)
    return -ll.sum(1).mean()


model = HazardNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(100):
    idx = torch.randint(0, n, (128,))
    z = model(x[idx])
    loss = neg_loglik(z, died[idx], at_risk[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"{step:4d}  {loss.item():.4f}  max hazard {z.sigmoid().max().item():.6f}")
