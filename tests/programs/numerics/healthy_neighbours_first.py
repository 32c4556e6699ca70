# guards: AD409
"""Points of a ring attend to their nearest neighbour at first: a penalty on distances that nobody learns sees to it."""

import torch
from torch import nn


class Ring(nn.Module):
    def __init__(self, points=12, width=8):
        super().__init__()
        self.lift = nn.Linear(1, width)
        self.ask, self.answer = nn.Linear(width, width), nn.Linear(width, width)
        self.read = nn.Linear(width, 1)
        apart = (torch.arange(points)[:, None] - torch.arange(points) - 1) % points
        self.register_buffer("penalty", 7.0 * torch.minimum(apart, points - apart).float())

    def forward(self, x):
        hidden = torch.tanh(self.lift(x[..., None]))
        scores = self.ask(hidden) @ self.answer(hidden).mT / 8**0.5 - self.penalty
        return self.read(scores.softmax(dim=-1) @ hidden).squeeze(-1)


torch.manual_seed(6)
model = Ring()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(40):
    x = torch.randn(32, 12)
    loss = nn.functional.mse_loss(model(x), x.roll(1, dims=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
