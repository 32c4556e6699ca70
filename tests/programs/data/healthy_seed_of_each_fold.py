# guards: AD709
"""Each fold, and each rate tried in it, begins with the same seed; the model is the same object, set back."""
import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(120, 6)
y = (x.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 2))
start = copy.deepcopy(model.state_dict())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for rate in (0.05, 0.1, 0.2, 0.3):
    torch.manual_seed(1)
    model.load_state_dict(start)
    for group in optimizer.param_groups:
        group["lr"] = rate
    for _ in range(2):
        for rows in torch.randperm(120).split(24):
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
for fold in range(4):
    torch.manual_seed(1)
    held = torch.arange(120) % 4 == fold
    net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 2))
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    for rows in torch.nonzero(~held).flatten()[torch.randperm(90)].split(18):
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
        sgd.zero_grad()
        loss.backward()
        sgd.step()
