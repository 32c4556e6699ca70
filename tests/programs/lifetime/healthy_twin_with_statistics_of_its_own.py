# guards: AD310
"""A twin shares the weights of the model; the statistics of its norms are its own, and loading brings them up to date."""

import torch
from torch import nn


class Ranker(nn.Module):
    def __init__(self, twin_of=None):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(5, 24), nn.BatchNorm1d(24), nn.Linear(24, 1)
        if twin_of is not None:
            self.first, self.last = twin_of.first, twin_of.last
            self.norm.weight, self.norm.bias = twin_of.norm.weight, twin_of.norm.bias

    def forward(self, x):
        return self.last(torch.relu(self.norm(self.first(x))))


torch.manual_seed(0)
model = Ranker()
serving = Ranker(twin_of=model).eval()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
x = torch.randn(240, 5) * 2 + 1
y = x.abs().sum(1, keepdim=True)
for epoch in range(8):
    for rows in torch.randperm(192).split(32):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    serving.load_state_dict(model.state_dict())
    with torch.no_grad():
        print(epoch, loss.item(), nn.functional.mse_loss(serving(x[192:]), y[192:]).item())
