import copy
import torch
from torch import nn

torch.manual_seed(16)
student = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 5))
teacher = copy.deepcopy(student).requires_grad_(False)
opt = torch.optim.SGD(student.parameters(), lr=0.1)


def sharpen(logits, t):
    return torch.softmax(logits / t, -1)


def divergence(p, q):
    return (p * (p.log() - q.log())).sum(-1).mean()  # expect: AD401


for step in range(40):
    x = torch.randn(64, 10)
    temperature = 0.5 if step < 20 else 0.0005
    with torch.no_grad():
        p = sharpen(teacher(x), temperature)
    loss = divergence(p, student(x + 0.1 * torch.randn_like(x)).softmax(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters()):
            slow.lerp_(fast, 0.05)
