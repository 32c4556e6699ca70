# guards: AD211
"""Passes in train mode for shapes, for the size of first weights and for the statistics of batch-norm, none for a score."""

import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.1), nn.Flatten())
with torch.no_grad():
    width = backbone(torch.zeros(2, 3, 12, 12)).shape[1]
model = nn.Sequential(*backbone, nn.Linear(width, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(96, 3, 12, 12)
y = (x.mean((1, 2, 3)) > 0).long()

with torch.no_grad():
    for depth, layer in enumerate(model):
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            layer.weight /= model[: depth + 1](x[:32]).std()

norm = model[1]
for epoch in range(3):
    model.train()
    for rows in torch.randperm(64).split(16):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
    with torch.no_grad():
        for count, rows in enumerate(torch.arange(64).split(16), start=1):
            norm.momentum = 1 / count
            model(x[rows])
    norm.momentum = 0.1
    model.eval()
    with torch.no_grad():
        print(epoch, (model(x[64:]).argmax(1) == y[64:]).float().mean().item())
