# guards: AD301
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(12):
    losses = []
    for _ in range(4):
        x = torch.randn(16, 8)
        losses.append(nn.functional.mse_loss(model(x), x.mean(1, keepdim=True)))
    optimizer.zero_grad()
    torch.stack(losses).mean().backward()
    optimizer.step()
