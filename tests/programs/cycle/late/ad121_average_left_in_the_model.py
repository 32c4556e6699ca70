"""An average of the weights is put into the model to be evaluated, and the training goes on from it."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(500, 8)
y = (x[:, 0] * x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
average = [p.detach().clone() for p in model.parameters()]
for epoch in range(8):
    model.train()
    for rows in torch.randperm(400).split(20):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for a, p in zip(average, model.parameters()):
            a.mul_(0.99).add_(p.detach(), alpha=0.01)
    model.eval()
    with torch.no_grad():
        for a, p in zip(average, model.parameters()):
            p.copy_(a)
        print(epoch, (model(x[400:]).argmax(1) == y[400:]).float().mean().item())  # expect: AD121
