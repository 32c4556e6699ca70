"""Sparse mixture: each token goes to two experts."""

import torch
from torch import nn


class Router(nn.Module):
    def __init__(self, width, experts, k):
        super().__init__()
        self.score = nn.Linear(width, experts, bias=False)
        self.k = k

    def forward(self, x):
        probs = self.score(x).softmax(-1)
        weights, chosen = probs.topk(self.k, dim=-1)
        mask = torch.zeros_like(probs).scatter_(-1, chosen, 1.0)  # expect: AD202
        return mask / self.k


class MoE(nn.Module):
    def __init__(self, width=8, experts=4):
        super().__init__()
        self.router = Router(width, experts, 2)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Linear(16, width)) for _ in range(experts)
        )

    def forward(self, x):
        gate = self.router(x)
        return sum(gate[..., i : i + 1] * expert(x) for i, expert in enumerate(self.experts))


torch.manual_seed(0)
model = nn.Sequential(nn.LayerNorm(8), MoE(), nn.Linear(8, 2))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for it in range(8):
    x = torch.randn(24, 8)
    loss = nn.functional.cross_entropy(model(x), (x.sum(1) > 0).long())
    loss.backward()
    opt.step()
    opt.zero_grad()
print(loss.item())
