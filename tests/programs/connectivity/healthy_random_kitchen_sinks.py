# guards: AD214
# hinted: AD214
"""Regression on fixed random features, brought to one scale by batch-norms that have no weights to learn either."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(4)
sinks = nn.ModuleDict({"lift": nn.Linear(3, 128), "scale": nn.BatchNorm1d(128), "mix": nn.Linear(128, 64), "last": nn.BatchNorm1d(64)})
for weights in sinks.parameters():
    weights.requires_grad = False
ridge = nn.Linear(64, 1)
optimizer = torch.optim.AdamW(ridge.parameters(), lr=2e-2, weight_decay=1e-3)


def features(x):
    x = sinks["scale"](sinks["lift"](x)).cos()
    return sinks["last"](sinks["mix"](x)).sin()


for step in range(40):
    x = 4 * torch.rand(64, 3)
    loss = F.smooth_l1_loss(ridge(features(x)), x.prod(1, keepdim=True).sqrt())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
sinks.eval()
with torch.no_grad():
    x = 4 * torch.rand(200, 3)
    print(F.l1_loss(ridge(features(x)), x.prod(1, keepdim=True).sqrt()).item())
