# guards: AD214
# hinted: AD214
"""Exploration by distillation: a network of random weights, which nothing was ever loaded into, is what is foretold."""

import torch
from torch import nn


class Features(nn.Module):
    def __init__(self, learns):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(2, 12, 3), nn.BatchNorm1d(12), nn.ReLU(), nn.Conv1d(12, 8, 3))
        self.norm = nn.BatchNorm1d(8)
        self.requires_grad_(learns)

    def forward(self, track):
        return self.norm(self.body(track)).mean(-1)


torch.manual_seed(0)
wanted, guess = Features(learns=False), Features(learns=True)
optimizer = torch.optim.Adam(guess.parameters(), lr=2e-3)
place, seen = torch.zeros(48), []
for step in range(30):
    place = place + torch.randn(48)
    track = torch.stack([(place[:, None] + torch.arange(10.0)).sin(), torch.rand(48, 10)], 1)
    with torch.no_grad():
        goal = wanted(track)
    surprise = (guess(track) - goal).square().mean(1)
    optimizer.zero_grad()
    surprise.mean().backward()
    optimizer.step()
    seen.append(surprise.mean().item())
print(seen[0], seen[-1])
