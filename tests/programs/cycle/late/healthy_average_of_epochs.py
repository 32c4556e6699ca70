# guards: AD121 AD120
"""The weights of the last epochs are averaged, and the average is evaluated beside the model."""

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

torch.manual_seed(0)
x = torch.randn(360, 6)
y = x[:, 0] * x[:, 1]
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
average = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for epoch in range(10):
    for rows in torch.randperm(300).split(20):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch >= 4:
        average.update_parameters(model)
    with torch.no_grad():
        held = average if epoch >= 4 else model
        print(nn.functional.mse_loss(held(x[300:]), y[300:]).item())
