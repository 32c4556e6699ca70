# guards: AD604
# hinted: AD604
"""As many levels as there are readings in an hour: each is to have its share of all readings below it."""

import torch
from torch import nn


class Levels(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.free = nn.Parameter(torch.zeros(count, 1))
        self.register_buffer("share", (torch.arange(count) + 0.5).unsqueeze(1) / count)

    def forward(self) -> torch.Tensor:
        return 10 * torch.sigmoid(self.free)

    def loss(self, readings: torch.Tensor) -> torch.Tensor:
        above = readings - self()
        return torch.maximum(self.share * above, (self.share - 1) * above).mean()


torch.manual_seed(0)
levels = Levels(24)
optimizer = torch.optim.Adam(levels.parameters(), lr=0.05)
for hour in range(60):
    readings = 5 + torch.randn(24)
    optimizer.zero_grad()
    levels.loss(readings).backward()
    optimizer.step()
print(levels().flatten().tolist())
