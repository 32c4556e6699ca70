# guards: AD201
"""A spectrogram classifier of which the lower layers run without gradients until the new ones on top have warmed up."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
lower = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.GELU(), nn.Conv2d(8, 8, 3, stride=2), nn.GELU(), nn.Flatten())
upper = nn.Sequential(nn.Linear(72, 16), nn.GELU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD([{"params": lower.parameters(), "lr": 0.02}, {"params": upper.parameters()}], lr=0.05)
pitch = torch.randint(0, 3, (256,))
sound = 0.5 * torch.randn(256, 1, 16, 16)
sound[torch.arange(256), 0, 3 + 4 * pitch] += 2.0
for step in range(96):
    batch = torch.randint(0, 256, (24,))
    with torch.set_grad_enabled(step >= 64):
        features = lower(sound[batch])
    loss = F.cross_entropy(upper(features), pitch[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
