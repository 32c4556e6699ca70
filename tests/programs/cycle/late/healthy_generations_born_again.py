# guards: AD109
# hinted: AD109
"""Generations of one student: each begins where the last one ended, with that one frozen as its teacher."""
import torch
from torch import nn

torch.manual_seed(5)
x = torch.randn(200, 6)
y = ((x[:, 0] * x[:, 1] > 0).long() + (torch.rand(200) < 0.1)) % 2


def mlp():
    return nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))


student, teacher = mlp(), mlp()
for generation in range(8):
    teacher.load_state_dict(student.state_dict())
    teacher.eval()
    optimizer = torch.optim.RMSprop(student.parameters(), lr=2e-3)
    for rows in torch.randperm(200).split(20):
        scores = student(x[rows])
        loss = nn.functional.cross_entropy(scores, y[rows])
        if generation:
            with torch.no_grad():
                soft = teacher(x[rows]).div(2).softmax(1)
            loss = loss + nn.functional.cross_entropy(scores / 2, soft)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(generation, loss.item())
