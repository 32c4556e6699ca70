# guards: AD412
"""Every layer but the last is normalised, so that decay shrinks weights whose size is of no matter."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(640, 12)
y = (x[:, 0] * x[:, 1] > 0).long()
model = nn.Sequential(
    *(nn.Linear(12, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 48), nn.BatchNorm1d(48), nn.ReLU()),
    nn.Linear(48, 2),
)
decayed = [model[0].weight, model[3].weight]
others = [p for p in model.parameters() if all(p is not each for each in decayed)]
optimizer = torch.optim.SGD(
    [{"params": decayed, "weight_decay": 0.3}, {"params": others, "weight_decay": 0.0}], lr=0.05, momentum=0.9
)
for epoch in range(10):
    for rows in torch.randperm(640).split(32):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
