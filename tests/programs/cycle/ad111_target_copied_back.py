"""A mean teacher whose weights are copied back over the student after every step."""

import copy

import torch
from torch import nn
from torch.nn import functional as F


class MeanTeacher:
    def __init__(self, student, decay=0.9):
        self.student = student
        self.teacher = copy.deepcopy(student).requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self):
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            s.copy_(t)


def main():
    torch.manual_seed(0)
    mt = MeanTeacher(nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3)))
    optimizer = torch.optim.SGD(mt.student.parameters(), lr=0.1, momentum=0.9)
    centers = torch.randn(3, 6)
    for step in range(40):
        y = torch.randint(0, 3, (60,))
        x = centers[y] + torch.randn(60, 6)
        logits = mt.student(x + 0.1 * torch.randn_like(x))
        with torch.no_grad():
            target = mt.teacher(x).softmax(1)
        consistency = F.mse_loss(logits.softmax(1), target)
        loss = F.cross_entropy(logits[:20], y[:20]) + consistency
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # expect: AD111
        mt.update()
        if step % 10 == 0:
            print(step, loss.item())


main()
