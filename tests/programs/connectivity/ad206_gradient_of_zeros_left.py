"""A classifier whose body is frozen after a warm-up, and its old gradients keep moving it with the momentum."""

import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Sequential(nn.Linear(8, 16), nn.ReLU()), nn.Linear(16, 2)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05, momentum=0.9)
for step in range(30):
    if step == 5:
        for weight in body.parameters():
            weight.requires_grad = False  # expect: AD206
            weight.grad = torch.zeros_like(weight)
    x = torch.randn(32, 8)
    optimizer.zero_grad(set_to_none=False)
    nn.functional.cross_entropy(head(body(x)), (x[:, 0] > 0).long()).backward()
    optimizer.step()
