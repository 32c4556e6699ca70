# guards: AD615 AD605 AD601
"""Softmaxes, sigmoids and tanhs inside a model: attention, gates, a mixture of experts, clipped scores of a pointer."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Pointer(nn.Module):
    def __init__(self, d=16, n_experts=3):
        super().__init__()
        self.project = nn.Linear(4, d)
        self.query = nn.Parameter(torch.randn(d))
        self.gate = nn.Linear(d, d)
        self.router = nn.Linear(d, n_experts)
        self.experts = nn.ModuleList(nn.Linear(d, d) for _ in range(n_experts))
        self.v = nn.Linear(d, 1)
        self.scale = nn.Parameter(torch.tensor(5.0))

    def forward(self, x):
        h = torch.tanh(self.project(x))
        weights = torch.softmax(h @ self.query, dim=1).unsqueeze(-1)
        pooled = (weights * h).sum(1, keepdim=True)
        h = torch.sigmoid(self.gate(h)) * h + pooled
        route = F.softmax(self.router(h), dim=-1)
        h = sum(route[..., i : i + 1] * expert(h) for i, expert in enumerate(self.experts))
        balance = (route.mean((0, 1)) ** 2).sum() * len(self.experts)
        scores = 10 * torch.tanh(self.v(torch.relu(h)).squeeze(-1))
        return scores, self.scale * torch.tanh(scores / 10), balance


torch.manual_seed(0)
model = Pointer()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(20):
    cities = torch.rand(32, 7, 4)
    nearest = cities[..., 0].argmin(1)
    scores, learned, balance = model(cities)
    loss = F.cross_entropy(scores, nearest) + F.cross_entropy(learned, nearest) + 0.01 * balance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
