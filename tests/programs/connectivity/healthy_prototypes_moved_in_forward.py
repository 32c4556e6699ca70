# guards: AD215 AD111
import math

import torch
import torch.nn.functional as F
from torch import nn


class AngularMargin(nn.Module):
    """Prototypes on the sphere; the angle to one's own has to be smaller by a margin."""

    def __init__(self, classes, width, margin=0.2, scale=16.0):
        super().__init__()
        self.prototypes = nn.Parameter(torch.randn(width, classes))
        self.margin, self.scale = margin, scale

    def adapt(self, device, dtype):
        self.prototypes.data = self.prototypes.data.to(device=device, dtype=dtype)

    def forward(self, features, labels):
        self.adapt(features.device, features.dtype)
        cosine = F.normalize(features) @ F.normalize(self.prototypes, dim=0)
        angle = cosine.clamp(-1 + 1e-6, 1 - 1e-6).acos()
        own = F.one_hot(labels, cosine.shape[1]).bool()
        pushed = torch.where(own & (angle <= math.pi - self.margin), (angle + self.margin).cos(), cosine)
        return F.cross_entropy(self.scale * pushed, labels)


torch.manual_seed(5)
centres = 2 * torch.randn(6, 20)
encoder = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 12))
criterion = AngularMargin(6, 12)
optimizer = torch.optim.SGD([{"params": encoder.parameters()}, {"params": criterion.parameters(), "lr": 0.1}], lr=0.05)
for step in range(60):
    labels = torch.randint(0, 6, (64,))
    images = centres[labels] + torch.randn(64, 20)
    optimizer.zero_grad()
    loss = criterion(encoder(images), labels)
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 3))
