# guards: AD725
"""An autoregressive model of pictures of eight levels: each picture is made smaller, and both given and predicted."""

import torch
import torch.nn.functional as F
from torch import nn

LEVELS = 8


class Causal(nn.Conv2d):
    def forward(self, x):
        mask = torch.ones_like(self.weight)
        mask[:, :, 1, 1:] = mask[:, :, 2] = 0
        return F.conv2d(x, self.weight * mask, self.bias, padding=1)


torch.manual_seed(0)
pictures = torch.randint(0, LEVELS, (40, 1, 4, 4)).repeat_interleave(5, 2).repeat_interleave(5, 3)
model = nn.Sequential(Causal(1, 32, 3), nn.ReLU(), nn.Conv2d(32, LEVELS, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(30):
    batch = pictures[torch.randint(40, (8,))].float()
    small = F.interpolate(batch, size=(12, 12), mode="bilinear", align_corners=False).round()
    loss = F.cross_entropy(model(small / (LEVELS - 1) * 2 - 1), small[:, 0].long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
