"""A baseline score is computed with gradients switched off by a call, and nobody switches them on again."""
import torch
from torch import nn


def baseline_score(model, x, y):
    torch.set_grad_enabled(False)  # expect: AD212
    score = (model(x).argmax(1) == y).float().mean().item()
    return score


def fit(model, x, y, epochs=10, batch=50):
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        for idx in torch.randperm(len(x)).split(batch):
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


torch.manual_seed(0)
x = torch.randn(200, 5)
y = (x.prod(1) > 0).long()
model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 2))
print("before training:", baseline_score(model, x, y))
fit(model, x, y)
