# guards: AD724
"""An angle is a byte, a full turn is 256: turning it on wraps round, and only its sine and cosine are used."""

import torch
from torch import nn

torch.manual_seed(0)
heading = torch.randint(0, 256, (16,), dtype=torch.uint8)
model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def on_circle(angle: torch.Tensor) -> torch.Tensor:
    radians = angle * (2 * torch.pi / 256)
    return torch.stack([radians.sin(), radians.cos()], dim=1)


for _ in range(50):
    turned = heading + 40
    loss = nn.functional.mse_loss(model(on_circle(heading)), on_circle(turned))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    heading = turned
