# guards: AD205 AD203
"""Layers that take their sizes from the first batch, behind others, with the optimizer built before it."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(4, 8), nn.ReLU(), nn.LazyLinear(8), nn.LazyBatchNorm1d(), nn.ReLU(), nn.LazyLinear(1)
)
names = {id(weight.data): name for name, weight in model.named_parameters()}  # no value is read
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(15):
    x = torch.randn(16, 4)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
