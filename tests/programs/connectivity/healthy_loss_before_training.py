# guards: AD211 AD209
"""Before training, the loss is compared with that of guessing; after it, predictions come from eval mode."""
import math

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 5))
x, y = torch.randn(256, 10), torch.randint(5, (256,))
x[torch.arange(256), y] += 2.0

first = nn.functional.cross_entropy(model(x[:64]), y[:64])
assert abs(first.item() - math.log(5)) < 0.7, "a fresh classifier should guess"

optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for _ in range(30):
    rows = torch.randint(256, (64,))
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    print("accuracy", (model(x).argmax(1) == y).float().mean().item())
