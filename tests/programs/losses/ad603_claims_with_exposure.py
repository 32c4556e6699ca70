import torch
from torch import nn


def policies(n):
    x = torch.randn(n, 5)
    exposure = torch.rand(n) * 0.9 + 0.1
    frequency = torch.exp(-1.5 + 0.4 * x[:, 0] - 0.3 * x[:, 1])
    return x, exposure, torch.poisson(frequency * exposure)


class Frequency(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(5, 16), nn.SiLU(), nn.Linear(16, 1))

    def forward(self, x):
        return nn.functional.softplus(self.trunk(x)).squeeze(-1)


torch.manual_seed(3)
x, exposure, claims = policies(512)
model, criterion = Frequency(), nn.PoissonNLLLoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for epoch in range(2):
    for rows in torch.randperm(512).split(64):
        frequency = model(x[rows])
        loss = criterion(frequency, claims[rows] / exposure[rows])  # expect: AD603
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
