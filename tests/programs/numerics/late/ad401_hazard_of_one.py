"""Discrete-time survival: hazards per interval from a small network."""

import torch
import torch.nn as nn

torch.manual_seed(14)
BINS = 10

# subjects: covariates drive how soon the event comes
n = 1500
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
        return torch.sigmoid(self.layers(x))


def neg_loglik(h, d, r):
    ll = d * torch.log(h + 1e-7) + (r - d) * torch.log1p(-h)  # expect: AD401
    return -ll.sum(1).mean()


model = HazardNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(500):
    idx = torch.randint(0, n, (128,))
    h = model(x[idx])
    loss = neg_loglik(h, died[idx], at_risk[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(f"{step:4d}  {loss.item():.4f}  max hazard {h.max().item():.6f}")
    if loss != loss:
        break
