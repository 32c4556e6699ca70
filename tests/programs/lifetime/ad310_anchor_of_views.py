import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
anchor = [parameter.data for parameter in model.parameters()]  # expect: AD310
for _ in range(16):
    x = torch.randn(16, 8)
    drift = sum(((now - before) ** 2).sum() for now, before in zip(model.parameters(), anchor, strict=True))
    loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True)) + 10 * drift
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
