"""Knowledge distillation from a larger network that was trained before."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
T, alpha = 4.0, 0.7


def mlp(width):
    return nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, 5))


def kd_loss(student_scores, teacher_scores, labels):
    soft = F.softmax(teacher_scores / T, dim=1)
    distance = F.kl_div(student_scores / T, soft, reduction="batchmean") * T * T
    return alpha * distance + (1 - alpha) * F.cross_entropy(student_scores, labels)


class Divergence(nn.Module):
    def __init__(self):
        super().__init__()
        self.kl = nn.KLDivLoss(reduction="batchmean")

    def forward(self, student_scores, teacher_scores):
        p = F.softmax(student_scores / T, dim=-1)  # expect: AD603
        q = F.softmax(teacher_scores / T, dim=-1)
        return self.kl(p, q) * T**2


teacher, student = mlp(64), mlp(8)
pre = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for _ in range(15):
    x = torch.randn(64, 10)
    loss = F.cross_entropy(teacher(x), x[:, :5].argmax(1))
    pre.zero_grad()
    loss.backward()
    pre.step()
teacher.eval()

criterion = Divergence()
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
for _ in range(25):
    x = torch.randn(64, 10)
    with torch.no_grad():
        known = teacher(x)
    scores = student(x)
    loss = alpha * criterion(scores, known) + (1 - alpha) * F.cross_entropy(scores, x[:, :5].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
