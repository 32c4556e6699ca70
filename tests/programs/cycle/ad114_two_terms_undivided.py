"""Distillation into a small network over six micro-batches for each step, whose loss has two terms."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 4)).eval()
student = nn.Linear(12, 4)
optimizer = torch.optim.SGD(student.parameters(), lr=0.05)
alpha, tau = 0.5, 2.0


def loss_of(x, label):
    scores = student(x)
    with torch.no_grad():
        soft = F.softmax(teacher(x) / tau, -1)
    near = F.kl_div(F.log_softmax(scores / tau, -1), soft, reduction="none").sum(-1).mean() * tau**2
    return alpha * F.cross_entropy(scores, label) + (1 - alpha) * near


for step in range(12):
    optimizer.zero_grad()
    for _ in range(6):
        x = torch.randn(8, 12)
        loss_of(x, x[:, :4].argmax(1)).backward()  # expect: AD114
    optimizer.step()
