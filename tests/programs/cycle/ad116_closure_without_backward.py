import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5)
inputs = torch.randn(32, 4)
targets = inputs.sum(dim=1, keepdim=True)


def closure():
    optimizer.zero_grad()
    return nn.functional.mse_loss(model(inputs), targets)


for _ in range(8):
    optimizer.step(closure)  # expect: AD116
