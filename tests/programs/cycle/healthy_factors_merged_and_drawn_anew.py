# guards: AD109
"""Low-rank factors are merged into a weight that rests, drawn anew, and trained by a new optimizer; and one network
whose weights are drawn anew for each seed."""

import torch
from torch import nn


class LowRank(nn.Module):
    def __init__(self, inputs, outputs, rank=2):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) / inputs**0.5, requires_grad=False)
        self.down = nn.Parameter(torch.randn(rank, inputs) / inputs**0.5)
        self.up = nn.Parameter(torch.zeros(outputs, rank))

    def forward(self, x):
        return x @ self.weight.t() + x @ self.down.t() @ self.up.t()

    @torch.no_grad()
    def merge(self):
        self.weight.add_(self.up @ self.down)
        nn.init.normal_(self.down, std=self.down.shape[1] ** -0.5)
        self.up.zero_()


def fit(model, batches, target):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.02)
    for x in batches:
        loss = nn.functional.mse_loss(model(x), target(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
low = nn.Sequential(LowRank(16, 32), nn.Tanh(), LowRank(32, 4))
true = torch.randn(16, 4) / 4
for cycle in range(4):
    print(cycle, fit(low, torch.randn(10, 64, 16), lambda x: torch.sin(2 * x @ true)))
    low[0].merge()
    low[2].merge()

network = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 4))
for seed in range(4):
    network[0].reset_parameters()
    network[2].reset_parameters()
    print(seed, fit(network, torch.randn(11, 64, 16), lambda x: torch.sin(2 * x @ true)))
