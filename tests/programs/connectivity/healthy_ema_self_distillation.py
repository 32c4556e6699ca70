# guards: AD216 AD201
"""Semi-supervised mean teacher: consistency with an EMA teacher, ramped-up weight, teacher under no_grad."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(2, 40), nn.ReLU(), nn.Dropout(0.1), nn.Linear(40, 2))
teacher = AveragedModel(student, multi_avg_fn=get_ema_multi_avg_fn(0.95))


def moons(n):
    y = torch.randint(0, 2, (n,))
    t = torch.rand(n) * math.pi
    x = torch.stack([t.cos() + y * 1.0, t.sin() * (1 - 2 * y) + 0.4 * y], 1)
    return x + 0.08 * torch.randn(n, 2), y


def rampup(step, length=20):
    if step >= length:
        return 1.0
    return math.exp(-5.0 * (1 - step / length) ** 2)


optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
x_lab, y_lab = moons(40)
for step in range(40):
    x_unl, _ = moons(128)
    with torch.no_grad():
        soft = teacher(x_unl + 0.05 * torch.randn_like(x_unl)).softmax(-1)
    sup = F.cross_entropy(student(x_lab), y_lab)
    cons = F.mse_loss(student(x_unl + 0.05 * torch.randn_like(x_unl)).softmax(-1), soft)
    loss = sup + 2.0 * rampup(step) * cons
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    teacher.update_parameters(student)
    if step % 10 == 9:
        print(step + 1, sup.item(), cons.item())
