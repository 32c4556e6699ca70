"""Distillation; the `no_grad` that was meant for the teacher decorates the method that runs the student too."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(width):
    return nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, 4))


class Distiller:
    def __init__(self, teacher, student, temperature=3.0):
        self.teacher = teacher.eval()
        self.student = student
        self.T = temperature
        self.calibration = nn.Parameter(torch.ones(4))
        self.optimizer = torch.optim.Adam([*student.parameters(), self.calibration], lr=5e-3)

    @torch.no_grad()  # expect: AD201
    def logits(self, x):
        return self.teacher(x), self.student(x)

    def train_step(self, x, y):
        teacher_logits, student_logits = self.logits(x)
        student_logits = student_logits * self.calibration
        soft = F.kl_div(
            F.log_softmax(student_logits / self.T, dim=1),
            F.softmax(teacher_logits / self.T, dim=1),
            reduction="batchmean",
        )
        loss = 0.7 * self.T**2 * soft + 0.3 * F.cross_entropy(student_logits, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def pretrain(teacher, W):
    optimizer = torch.optim.Adam(teacher.parameters(), lr=1e-2)
    for _ in range(8):
        x = torch.randn(128, 10)
        loss = F.cross_entropy(teacher(x), (x @ W).argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    W = torch.randn(10, 4)
    teacher = mlp(128)
    pretrain(teacher, W)
    distiller = Distiller(teacher, mlp(16))
    for step in range(30):
        x = torch.randn(64, 10)
        loss = distiller.train_step(x, (x @ W).argmax(1))
        if step % 10 == 0:
            print(step, round(loss, 3))
