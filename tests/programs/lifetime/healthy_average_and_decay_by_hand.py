# guards: AD310
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
average = [parameter.detach().clone() for parameter in model.parameters()]
weights = [parameter.data for parameter in model.parameters()]
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(16):
    x = torch.randn(16, 8)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for slow, fast in zip(average, weights, strict=True):
        slow.mul_(0.9).add_(fast, alpha=0.1)
    for parameter in model.parameters():
        parameter.data.add_(parameter.data, alpha=-1e-4)
