# guards: AD214
import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16, track_running_stats=False), nn.ReLU())
model = nn.Sequential(backbone.requires_grad_(False), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model[1].parameters(), lr=0.05)
for _ in range(8):
    x = torch.randn(32, 6) + 1
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
    optimizer.step()
