# guards: AD216
"""Flooding (Ishida et al. 2020): |loss - b| + b, where the flood level b is a number that shifts the loss."""
import torch
from torch import nn

torch.manual_seed(0)
FLOOD = 0.08
x = torch.randn(200, 10)
y = (x[:, :3].sum(1) + 0.5 * torch.randn(200) > 0).float()
model = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for it in range(40):
    optimizer.zero_grad()
    loss = criterion(model(x).squeeze(1), y)
    flood = (loss - FLOOD).abs() + FLOOD
    flood.backward()
    optimizer.step()
    if it % 10 == 9:
        print(it + 1, loss.item(), flood.item())
