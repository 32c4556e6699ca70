# guards: AD211
"""A teacher that was trained before is hidden from its student, and noisy on purpose; it is an earlier stage's."""

import torch
from torch import nn


class Student(nn.Module):
    def __init__(self, teacher):
        super().__init__()
        self.net = nn.Linear(6, 3)
        self.hidden = [teacher]

    def forward(self, x):
        out = self.net(x)
        with torch.no_grad():
            soft = self.hidden[0](x).softmax(1)
        return out, soft


torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
optimizer = torch.optim.Adam(teacher.parameters(), 1e-2)
for _ in range(8):
    x = torch.randn(32, 6)
    optimizer.zero_grad()
    nn.functional.cross_entropy(teacher(x), x[:, :3].argmax(1)).backward()
    optimizer.step()
student = Student(teacher)
optimizer = torch.optim.Adam(student.parameters(), 1e-2)
held_out = torch.randn(64, 6)
for _ in range(3):
    student.train()
    for _ in range(4):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        out, soft = student(x)
        nn.functional.cross_entropy(out, soft).backward()
        optimizer.step()
    student.eval()
    with torch.no_grad():
        print(
            (student(held_out)[0].argmax(1) == held_out[:, :3].argmax(1))
            .float()
            .mean()
            .item()
        )
