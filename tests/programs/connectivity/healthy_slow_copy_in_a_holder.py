# guards: AD211
"""A slow copy in a holder of its own predicts what its fast twin learns; it normalises by its batches, as the twin does."""

import copy

import torch
from torch import nn


class Twin(nn.Module):
    def __init__(self):
        super().__init__()
        self.fast = nn.Sequential(
            nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4)
        )
        self.guess = nn.Linear(4, 4)
        self.slow = (copy.deepcopy(self.fast).requires_grad_(False),)

    def forward(self, x, y):
        with torch.no_grad():
            target = self.slow[0](y)
        return nn.functional.cosine_similarity(self.guess(self.fast(x)), target).mean()

    @torch.no_grad()
    def follow(self):
        for slow, fast in zip(
            self.slow[0].parameters(), self.fast.parameters(), strict=True
        ):
            slow.lerp_(fast, 0.1)


torch.manual_seed(0)
model = Twin()
optimizer = torch.optim.SGD(model.parameters(), 0.05)
held_out = torch.randn(32, 6)
for _ in range(3):
    model.train()
    for _ in range(4):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        (
            1 - model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
        ).backward()
        optimizer.step()
        model.follow()
    model.eval()
    with torch.no_grad():
        print(model(held_out, held_out).item())
