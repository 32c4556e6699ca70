# guards: AD410 AD203
"""A mixture of experts with a top-1 gate that weighs the chosen expert; some experts rest in some steps."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MoE(nn.Module):
    def __init__(self, dim=8, experts=3):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, 1)) for _ in range(experts)
        )

    def forward(self, x):
        probs = F.softmax(self.gate(x), dim=-1)
        top = probs.max(dim=-1)
        out = torch.zeros(x.size(0), 1)
        for i, expert in enumerate(self.experts):
            rows = (top.indices == i).nonzero().squeeze(1)
            if rows.numel():
                weight = top.values[rows]
                out = out.index_add(0, rows, weight.unsqueeze(1) * expert(x[rows]))
        return out


torch.manual_seed(0)
model = MoE()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.0)
for step in range(40):
    x = torch.randn(48, 8)
    y = torch.where(x[:, :1] > 0, x[:, 1:2], -x[:, 2:3])
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
