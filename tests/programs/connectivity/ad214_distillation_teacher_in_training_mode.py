"""Knowledge distillation into a small student from a convolutional teacher whose weights come from a checkpoint."""
import io

import torch
import torch.nn as nn
import torch.nn.functional as F


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())


class Teacher(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stem = conv_block(1, 12)
        self.body = conv_block(12, 24)
        self.fc = nn.Linear(24, classes)

    def forward(self, x):
        return self.fc(self.body(self.stem(x)).mean((2, 3)))


def checkpoint_bytes():
    file = io.BytesIO()
    torch.save(Teacher().state_dict(), file)
    file.seek(0)
    return file


class Distiller:
    def __init__(self, teacher, student, temperature=3.0):
        self.teacher, self.student, self.temperature = teacher, student, temperature
        for parameter in self.teacher.parameters():
            parameter.requires_grad_(False)
        self.optimizer = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)

    def step(self, images, labels):
        with torch.no_grad():
            soft = F.softmax(self.teacher(images) / self.temperature, dim=1)  # expect: AD214
        logits = self.student(images)
        hint = F.kl_div(F.log_softmax(logits / self.temperature, dim=1), soft, reduction="batchmean")
        loss = F.cross_entropy(logits, labels) + self.temperature**2 * hint
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(7)
    teacher = Teacher()
    teacher.load_state_dict(torch.load(checkpoint_bytes()))
    student = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4))
    distiller = Distiller(teacher, student)
    for _ in range(20):
        labels = torch.randint(0, 4, (32,))
        images = 0.4 * torch.randn(32, 1, 8, 8)
        images[torch.arange(32), 0, 2 * labels] += 1.0
        last = distiller.step(images, labels)
    print(last)
