# guards: AD115
"""Five epochs of warm-up, one call for each, and the full rate for the rest."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 1, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: min(1.0, (epoch + 1) / 5))
for epoch in range(8):
    for _ in range(12):
        images = torch.randn(8, 1, 8, 8)
        loss = nn.functional.binary_cross_entropy_with_logits(net(images), (images > 0.3).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    warmup.step()
