# guards: AD617
"""Views that cut and join axes as they lie: folded heads, channel shuffle, capsules, windows, frames of a film."""
import torch
import torch.nn.functional as F
from torch import nn


class FoldedAttention(nn.Module):
    """Time comes first, and heads are folded into the batch."""

    def __init__(self, width=24, heads=4):
        super().__init__()
        self.heads, self.inner = heads, width // heads
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def fold(self, t):
        return t.contiguous().view(t.size(0), t.size(1) * self.heads, self.inner).transpose(0, 1)

    def forward(self, x):
        length, samples, width = x.shape
        q, k, v = (self.fold(part) for part in self.mix(x).chunk(3, dim=-1))
        weights = torch.bmm(q, k.transpose(1, 2)).div(self.inner**0.5).softmax(-1)
        mixed = torch.bmm(weights, v)
        return self.out(mixed.transpose(0, 1).contiguous().view(length, samples, width))


class Shuffled(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv2d(3, 24, 3, padding=1, groups=3), nn.Conv2d(24, 24, 3, padding=1, groups=3)
        self.capsules = nn.Linear(8, 8)

    def forward(self, frames):
        x = F.relu(self.one(frames))
        n, c, h, w = x.shape
        x = x.view(n, 3, c // 3, h, w).transpose(1, 2).reshape(n, c, h, w)
        x = F.relu(self.two(x))
        capsules = F.adaptive_avg_pool2d(x, 1).view(n, 3, 8)
        return self.capsules(capsules).flatten(1)


class Film(nn.Module):
    def __init__(self):
        super().__init__()
        self.frames, self.time, self.head = Shuffled(), FoldedAttention(), nn.Linear(24, 2)

    def forward(self, film):
        samples, length = film.shape[:2]
        seen = self.frames(film.flatten(0, 1)).view(samples, length, 24)
        mixed = self.time(seen.transpose(0, 1)).transpose(0, 1)
        windows = mixed.reshape(samples, length // 2, 2, 24).mean(2)
        return self.head(windows).mean(1)


torch.manual_seed(0)
film = Film()
optimizer = torch.optim.Adam(film.parameters(), lr=2e-3)
for step in range(24):
    x = torch.rand(6, 10, 3, 5, 7)
    y = (x[:, :5].mean((1, 2, 3, 4)) > x[:, 5:].mean((1, 2, 3, 4))).long()
    loss = F.cross_entropy(film(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
