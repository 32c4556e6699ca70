# guards: AD409
"""Strips in a picture are found by their two edges; how sharp an edge is, and a vote among templates, is learned."""

import torch
from torch import nn


class Strips(nn.Module):
    def __init__(self, strips):
        super().__init__()
        self.middles = nn.Parameter(torch.linspace(-0.7, 0.7, strips))
        self.widths = nn.Parameter(torch.full((strips,), 0.12))
        self.blur = nn.Parameter(torch.tensor(0.012))
        self.heights = nn.Parameter(0.5 + 0.1 * torch.randn(strips))

    def forward(self, places):
        inside = self.widths - (places[:, None] - self.middles).abs()
        return torch.sigmoid(inside / self.blur) @ self.heights


class Vote(nn.Module):
    def __init__(self, size, kinds):
        super().__init__()
        self.templates = nn.Linear(size, 12)
        self.firmness = nn.Parameter(torch.tensor(3.4))
        self.kinds = nn.Linear(12, kinds)

    def forward(self, rows):
        likeness = self.templates(rows)
        return self.kinds(torch.softmax(self.firmness.exp() * likeness, dim=1))


torch.manual_seed(0)
places = torch.linspace(-1, 1, 400)
seen = ((places * 7).sin() > 0.3).float() + 0.02 * torch.randn(400)
strips, vote = Strips(5), Vote(9, 3)
optimizer = torch.optim.Adam([*strips.parameters(), *vote.parameters()], lr=3e-3)
for step in range(60):
    picture = nn.functional.mse_loss(strips(places), seen)
    rows = torch.randn(64, 9)
    kinds = nn.functional.cross_entropy(vote(rows), rows[:, :3].argmax(1))
    optimizer.zero_grad()
    (picture + kinds).backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, picture.item(), kinds.item())
