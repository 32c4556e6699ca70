"""An auxiliary reconstruction is weighted less and less, and below nothing in the end."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
x = torch.randn(600, 10)
y = (x[:, 0] + x[:, 1] > 0).long()
body, head, back = nn.Sequential(nn.Linear(10, 32), nn.ReLU()), nn.Linear(32, 2), nn.Linear(32, 10)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters(), *back.parameters()], lr=0.05)
weight = 0.5
for epoch in range(10):
    for rows in torch.randperm(600).split(30):
        hidden = body(x[rows])
        loss = F.cross_entropy(head(hidden), y[rows]) + weight * F.mse_loss(back(hidden), x[rows])  # expect: AD609
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        weight -= 0.004
