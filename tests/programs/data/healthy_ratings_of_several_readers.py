# guards: AD725
"""Four readers rate each case from 0 to 5; the class is their mean, rounded, as ratings have an order."""

import torch
from torch import nn

torch.manual_seed(0)
severity = 5 * torch.rand(400, 1)
ratings = (severity + 0.7 * torch.randn(400, 4)).round().clamp(0, 5).long()
signs = severity * torch.randn(1, 12) + 0.5 * torch.randn(400, 12)
label = ratings.float().mean(dim=1).round().long()
model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 6))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(40):
    rows = torch.randint(400, (32,))
    loss = nn.functional.cross_entropy(model(signs[rows]), label[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
