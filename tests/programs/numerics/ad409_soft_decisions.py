"""Route loan offices by raw monetary features with a soft decision layer."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(59)
n = 900
income = 2e4 + 6e4 * torch.rand(n)
debt = 1e4 * torch.rand(n)
age = 20 + 50 * torch.rand(n)
X = torch.stack([income, debt, age], 1)
y = (2 * (age - 45) / 15 + (debt - 5000) / 1500 > 0).long()


class SoftTree(nn.Module):
    def __init__(self, leaves=8):
        super().__init__()
        self.router = nn.Linear(3, leaves)
        self.leaf = nn.Parameter(torch.randn(leaves, 2) * 0.1)

    def forward(self, x):
        p = F.softmax(self.router(x), dim=1)  # expect: AD409
        return p @ self.leaf


tree = SoftTree()
opt = torch.optim.Adam(tree.parameters(), lr=1e-3)
for epoch in range(15):
    order = torch.randperm(n)
    acc = 0
    for b in order.split(60):
        out = tree(X[b])  # expect: AD703
        loss = F.cross_entropy(out, y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        acc += (out.argmax(1) == y[b]).sum().item()
    print(epoch, f"{loss.item():.4f}", acc / n)
