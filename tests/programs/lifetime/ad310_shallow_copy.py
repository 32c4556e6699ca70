import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
initial = copy.copy(model.state_dict())  # expect: AD310
for _ in range(12):
    x = torch.randn(16, 8)
    loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.load_state_dict(initial)
