"""One optimizer per layer, built from modules(): containers' parameters come twice."""

import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(6, 12)
        self.body = nn.Sequential(nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 12))
        self.top = nn.Linear(12, 1)

    def forward(self, x):
        return self.top(self.body(torch.relu(self.stem(x))))


torch.manual_seed(0)
net = Stack()
optimizers = []
for depth, (name, module) in enumerate(net.named_modules()):
    if name and list(module.parameters()):
        optimizers.append(torch.optim.SGD(module.parameters(), lr=0.05 * 0.8**depth))  # expect: AD112
for it in range(8):
    x = torch.randn(10, 6)
    for o in optimizers:
        o.zero_grad()
    loss = (net(x) - x.prod(1, keepdim=True)).abs().mean()
    loss.backward()
    for o in optimizers:
        o.step()
    print(it, loss.item())
