# guards: AD608
"""A layer is solved for its fixed point, with as many iterations as the slowest of the batch needs."""

import torch
from torch import nn


class Fixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(12, 12), nn.Linear(10, 12)
        self.head = nn.Linear(12, 3)

    def once(self, z, x):
        return torch.tanh(0.7 * self.inner(z) + self.outer(x.flatten(1)))

    def forward(self, x):
        with torch.no_grad():
            way = torch.zeros(len(x), 60, 12)
            for at in range(59):
                before = way[:, at]
                way[:, at + 1] = self.once(before, x)
                if (way[:, at + 1] - before).norm() < 3e-3 * way[:, at + 1].norm():
                    break
        return self.head(self.once(way[:, at : at + 2].mean(1), x))


torch.manual_seed(0)
model = Fixed()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(4):
    model.train()
    for _ in range(8):
        x = torch.randn(24, 2, 5)
        loss = nn.functional.cross_entropy(model(x), x[:, 0, :3].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        x = torch.randn(24, 2, 5)
        print(epoch, (model(x).argmax(1) == x[:, 0, :3].argmax(1)).float().mean().item())
