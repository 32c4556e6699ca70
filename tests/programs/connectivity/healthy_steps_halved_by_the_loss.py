# guards: AD211 AD209
"""Gradient descent with a line search: the loss is asked again after the step, which is halved until it helps."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(150, 5)
y = x[:, :1].sin() + 0.1 * torch.randn(150, 1)
net = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.2)


def loss_on(rows):
    return nn.functional.mse_loss(net(x[rows]), y[rows])


for epoch in range(6):
    for rows in torch.arange(150).split(30):
        loss = loss_on(rows)
        optimizer.zero_grad()
        loss.backward()
        before = [p.detach().clone() for p in net.parameters()]
        optimizer.step()
        for _ in range(3):
            if loss_on(rows).item() <= loss.item():
                break
            with torch.no_grad():
                for p, b in zip(net.parameters(), before, strict=True):
                    p.copy_((p + b) / 2)
