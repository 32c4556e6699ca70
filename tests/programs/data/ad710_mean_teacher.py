import torch
import torch.nn.functional as F


class Block(torch.nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.conv = torch.nn.Conv1d(before, after, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm1d(after)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(Block(2, 12), Block(12, 12))
        self.out = torch.nn.Linear(12, 3)

    def forward(self, x):
        return self.out(self.body(x).mean(-1))


def signals(count):
    kind = torch.randint(0, 3, (count,))
    time = torch.linspace(0, 6.28, 40)
    wave = torch.sin(time * (kind[:, None] + 1.0))
    return torch.stack([wave, wave.roll(5, 1)], 1) + 0.3 * torch.randn(count, 2, 40) + 1.5, kind


def follow(teacher, student, rate):
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters()):
            slow.copy_(rate * slow + (1 - rate) * fast)  # <- AD710


def main():
    torch.manual_seed(11)
    student, teacher = Classifier(), Classifier()
    teacher.load_state_dict(student.state_dict())
    teacher.eval()
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)
    for step in range(30):
        x, y = signals(24)
        unlabelled, _ = signals(48)
        with torch.no_grad():
            wanted = teacher(unlabelled).softmax(1)
        consistency = F.mse_loss(student(unlabelled + 0.1 * torch.randn_like(unlabelled)).softmax(1), wanted)
        loss = F.cross_entropy(student(x), y) + min(1.0, step / 20) * consistency
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        follow(teacher, student, 0.95)


if __name__ == "__main__":
    main()
