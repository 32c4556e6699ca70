# guards: AD111
"""The forward pass in bfloat16 under autocast; the weights stay in float32."""

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class ScaledMLP(nn.Module):
    def __init__(self, dim, width, out):
        super().__init__()
        self.inp = nn.Linear(dim, width)
        self.gain = nn.Parameter(torch.ones(width))
        self.out = nn.Linear(width, out)

    def forward(self, x):
        return self.out(torch.tanh(self.inp(x)) * self.gain)


model = ScaledMLP(8, 32, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=5e-2)

for i in range(40):
    x = torch.randn(64, 8)
    y = (x.sum(1) > 0).long()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(x)
    loss = F.cross_entropy(logits.float(), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 10 == 0:
        print(i, round(loss.item(), 4))
