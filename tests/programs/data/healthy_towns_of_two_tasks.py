# guards: AD706
"""One network over towns answers two questions, and which towns are asked differs from question to question."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)
n = 160
x = torch.randn(n, 8)
roads = (torch.cdist(x, x) < 3).float()
roads = roads / roads.sum(1, keepdim=True)
rent, growing = x[:, :1] + 0.1 * torch.randn(n, 1), (x[:, 1] > 0).float()
rent_order, growing_order = torch.randperm(n), torch.randperm(n)
body = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
rent_head, growing_head = nn.Linear(16, 1), nn.Linear(16, 1)
parts = nn.ModuleList([body, rent_head, growing_head])
optimizer = torch.optim.Adam(parts.parameters(), lr=0.01)


def answers():
    hidden = body(torch.cat([x, roads @ x], 1))
    return rent_head(hidden), growing_head(hidden).squeeze(1)


for step in range(25):
    parts.train()
    rents, grows = answers()
    asked, told = rent_order[:100], growing_order[:100]
    loss = F.mse_loss(rents[asked], rent[asked]) + F.binary_cross_entropy_with_logits(grows[told], growing[told])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    parts.eval()
    with torch.no_grad():
        rents, grows = answers()
        asked, told = rent_order[100:], growing_order[100:]
        print(F.mse_loss(rents[asked], rent[asked]).item())
        print(((grows[told] > 0) == (growing[told] > 0)).float().mean().item())
