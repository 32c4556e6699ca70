import torch
from torch import nn


class Expert(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class MoE(nn.Module):
    def __init__(self, dim=16, experts=3, k=2):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.experts = nn.ModuleList([Expert(dim) for _ in range(experts)])
        self.head = nn.Linear(dim, 4)
        self.k = k

    def forward(self, x):
        scores = self.gate(x).softmax(-1)
        weight, chosen = scores.topk(self.k, dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows, slot = torch.where(chosen == i)
            if len(rows):
                out = out.index_add(0, rows, weight[rows, slot, None] * expert(x[rows]))
        return self.head(out), scores.mean(0).square().sum()
