# guards: AD604
"""Learning to rank: the scores of a list against one another, and a kernel between two samples."""

import torch
from torch import nn
from torch.nn import functional as F


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, x):
        return self.mlp(x)


def ranknet(scores, relevance):
    ahead = relevance - relevance.t() > 0
    margins = scores - scores.t()
    return F.softplus(-margins[ahead]).mean()


def kernel_distance(x, y):
    def kernel(a, b):
        return torch.exp(-((a[:, None] - b[None, :]) ** 2)).mean()

    return kernel(x, x) + kernel(y, y) - 2 * kernel(x, y)


torch.manual_seed(0)
model = Scorer()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(20):
    x = torch.randn(24, 6)
    relevance = x[:, :1].round()
    scores = model(x)
    wanted = torch.randn(24)
    flat = scores.squeeze(1)
    spread = (flat.unsqueeze(1) - wanted).abs().mean() - 0.5 * (flat.unsqueeze(1) - flat).abs().mean()
    loss = ranknet(scores, relevance) + kernel_distance(flat, wanted) + 0.1 * spread
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
