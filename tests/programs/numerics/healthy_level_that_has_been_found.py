# guards: AD415
"""A sensor is trained beside a slow estimate of its offset, which comes to rest once it is right."""

import torch
from torch import nn


class Offset:
    def __init__(self, share=0.3):
        self.level = torch.zeros((), dtype=torch.float32)
        self.share = share

    def follow(self, seen):
        self.level += self.share * (seen - self.level)
        return self.level


torch.manual_seed(3)
offset = Offset()
decay = torch.ones(())
series = torch.zeros(())
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for _ in range(90):
    x = torch.randn(40, 5)
    raw = x.sum(1, keepdim=True) + 2.7
    level = offset.follow(torch.tensor(2.7))
    decay = 0.5 * decay
    series = series + decay
    loss = nn.functional.mse_loss(model(x), raw - level)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(offset.level.item(), series.item())
