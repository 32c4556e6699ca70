"""Calibrated probabilities given to a loss as the scores, and the scores as the probabilities."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(500, 7)
p = torch.sigmoid(x[:, :1] * 2 + 0.2 * torch.randn(500, 1))
model = nn.Linear(7, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
crit = nn.BCEWithLogitsLoss()
for i in range(100):
    idx = torch.randint(0, 500, (50,))
    loss = crit(p[idx], model(x[idx]))  # expect: AD612
    opt.zero_grad()
    loss.backward()
    opt.step()
