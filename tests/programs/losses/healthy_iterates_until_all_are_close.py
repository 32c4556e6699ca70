# guards: AD608
"""A layer is solved for its fixed point, with as many iterations as the slowest of the batch needs."""

import torch
from torch import nn


class Fixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(12, 12), nn.Linear(5, 12)
        self.head = nn.Linear(12, 3)

    def once(self, z, x):
        return torch.tanh(0.7 * self.inner(z) + self.outer(x))

    def forward(self, x):
        with torch.no_grad():
            z = torch.zeros(len(x), 12)
            for _ in range(60):
                before, z = z, self.once(z, x)
                if (z - before).norm() / z.norm() < 3e-3:
                    break
        return self.head(self.once(z, x))


torch.manual_seed(0)
model = Fixed()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(4):
    model.train()
    for _ in range(8):
        x = torch.randn(24, 5)
        loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        x = torch.randn(24, 5)
        print(epoch, (model(x).argmax(1) == x[:, :3].argmax(1)).float().mean().item())
