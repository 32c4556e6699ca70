"""Consistency training against an average of the student that is moved while the rate warms up, and forgotten then."""

import torch
from torch import nn


class Learner:
    def __init__(self, student, decay=0.95):
        self.student, self.decay = student, decay
        self.teacher = type(student)(*student.sizes)
        self.teacher.load_state_dict(student.state_dict())
        self.optimizer = torch.optim.SGD(student.parameters(), lr=0.0, momentum=0.9)

    def rate(self, step, warmup=60):
        if step < warmup:
            self.move()
            return 0.05 * (step + 1) / warmup
        return 0.05

    @torch.no_grad()
    def move(self):
        for slow, fast in zip(self.teacher.parameters(), self.student.parameters()):
            slow.lerp_(fast, 1 - self.decay)  # expect: AD227

    def step(self, number, x, y, unlabelled):
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(number)
        with torch.no_grad():
            wanted = self.teacher(unlabelled).softmax(1)
        said = self.student(unlabelled + 0.1 * torch.randn_like(unlabelled)).softmax(1)
        loss = nn.functional.cross_entropy(self.student(x), y) + (said - wanted).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


class Net(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.sizes = sizes
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


if __name__ == "__main__":
    torch.manual_seed(4)
    learner = Learner(Net(6, 24, 3))
    x, pool = torch.randn(60, 6), torch.randn(200, 6)
    y = x[:, :3].argmax(1)
    for number in range(140):
        rows = torch.randint(0, 200, (32,))
        loss = learner.step(number, x, y, pool[rows])
    print(loss)
