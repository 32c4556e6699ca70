# guards: AD710
"""A net whose weights are all drawn at random makes the answers that another one of its kind learns."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Linear(16, 1)

    def forward(self, x):
        return self.last(torch.tanh(self.norm(self.first(x))))


torch.manual_seed(0)
teacher, student = Net(), Net()
with torch.no_grad():
    for weight in teacher.parameters():
        weight.normal_(0.3, 0.5)
teacher.eval()
optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
for step in range(40):
    x = 3 * torch.randn(32, 6) + 1
    with torch.no_grad():
        answers = teacher(x)
    optimizer.zero_grad()
    F.mse_loss(student(x), answers).backward()
    optimizer.step()
