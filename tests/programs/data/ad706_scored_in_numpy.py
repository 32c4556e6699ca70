"""Which of the samples of a kernel machine are for tests is drawn anew for the score, in NumPy."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(8)
x = torch.randn(140, 5)
y = (x[:, 0] * x[:, 1]).sign() + 0.1 * torch.randn(140)
order = torch.randperm(140)
fitted = order[:100]


class Kernel(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.coefficients = nn.Parameter(torch.zeros(count))
        self.width = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return torch.exp(-torch.cdist(x, x).square() / self.width.square()) @ self.coefficients


machine = Kernel(140)
optimizer = torch.optim.Adam(machine.parameters(), lr=0.05)
for step in range(25):
    found = machine(x)
    loss = (found[fitted] - y[fitted]).pow(2).mean() + 1e-3 * machine.coefficients.square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
scored = torch.randperm(140)[100:]
with torch.no_grad():
    found = machine(x)[scored].numpy()  # expect: AD706
wanted = y[scored].numpy()
print("R2:", 1 - np.square(found - wanted).sum() / np.square(wanted - wanted.mean()).sum())
