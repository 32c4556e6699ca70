# guards: AD224
"""A cross-entropy from which the teacher's own is taken, so that the number shown is a divergence."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 6)).requires_grad_(False)
student = nn.Linear(12, 6)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
for _ in range(30):
    x = torch.randn(32, 12)
    wanted = teacher(x)
    soft = wanted.softmax(1)
    loss = F.cross_entropy(student(x), soft) - F.cross_entropy(wanted, soft)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
