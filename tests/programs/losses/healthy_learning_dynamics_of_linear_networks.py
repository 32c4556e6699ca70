# guards: AD610
"""How deep linear networks learn: modes one after the other, the strongest first, as the singular values say."""

import torch
from torch import nn


class DeepLinear(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


torch.manual_seed(2)
teacher = torch.diag(torch.tensor([3.0, 2.0, 1.0, 0.5, 0.1, 0.0]))
student = DeepLinear(6, 2)
optimizer = torch.optim.SGD(student.parameters(), lr=0.02)
for _ in range(40):
    x = torch.randn(64, 6)
    error = student(x) - x @ teacher
    loss = error.square().sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
