# guards: AD211
"""Monte-Carlo dropout: evaluation keeps dropout active on purpose, in many passes over the same batch."""
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


def enable_dropout(model):
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.train()


@torch.no_grad()
def predict_with_uncertainty(model, x, passes=20):
    model.eval()
    enable_dropout(model)
    draws = torch.stack([model(x) for _ in range(passes)])
    model.train()
    return draws.mean(0), draws.std(0)


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
    mean, spread = predict_with_uncertainty(model, x_val)
    print(epoch, nn.functional.mse_loss(mean, target(x_val)).item(), spread.mean().item())
