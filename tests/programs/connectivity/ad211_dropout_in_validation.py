"""Validation without gradients, and with dropout still active."""
import torch
from torch import nn


class Regressor(nn.Module):
    def __init__(self, p=0.2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Dropout(p), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def target(x):
    return (x[:, 0] + x[:, 1] * x[:, 2]).tanh()


@torch.no_grad()
def validate(model, x, y):
    prediction = model(x)  # expect: AD211
    return nn.functional.mse_loss(prediction, y).item()


torch.manual_seed(0)
model = Regressor()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x_val = torch.randn(200, 3)
for epoch in range(4):
    model.train()
    for _ in range(7):
        x = torch.randn(50, 3)
        loss = nn.functional.mse_loss(model(x), target(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, validate(model, x_val, target(x_val)))
