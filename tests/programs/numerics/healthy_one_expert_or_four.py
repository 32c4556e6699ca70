# guards: AD410 AD613
"""A mixture of experts beside its baseline of one expert, for which the gate has nothing to choose."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Mixture(nn.Module):
    def __init__(self, experts, d=8):
        super().__init__()
        self.gate = nn.Linear(d, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(d, 16), nn.ReLU(), nn.Linear(16, 3)) for _ in range(experts)
        )

    def forward(self, x):
        weights = F.softmax(self.gate(x), dim=-1)
        return torch.einsum("be,ebc->bc", weights, torch.stack([expert(x) for expert in self.experts]))


def experiment(experts):
    torch.manual_seed(2)
    model = Mixture(experts)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(9):
        x = torch.randn(64, 8)
        y = (x[:, :4].sum(1) > 0).long() + (x[:, 4:].sum(1) > 1).long()
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


for n in (1, 4):
    print(n, "experts:", experiment(n))
