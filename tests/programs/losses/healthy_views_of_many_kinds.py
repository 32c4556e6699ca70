# guards: AD617
"""Views that are right: heads, windows, folded time, states of layers and directions, relative positions, shuffles."""

import torch
import torch.nn.functional as F
from torch import nn


class RelativeAttention(nn.Module):
    def __init__(self, width=12, heads=3):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)
        self.distance = nn.Parameter(torch.randn(heads, 7, width // heads) * 0.1)

    def shift(self, scores):
        samples, heads, rows, columns = scores.shape
        padded = F.pad(scores, (1, 0)).view(samples, heads, columns + 1, rows)
        return padded[:, :, 1:].view(samples, heads, rows, columns)

    def forward(self, x):
        samples, length, width = x.shape
        q, k, v = (
            part.view(samples, length, self.heads, self.size).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1)
        )
        scores = q @ k.transpose(-2, -1) + self.shift(q @ self.distance.transpose(1, 2))[..., :length]
        mixed = scores.div(self.size**0.5).softmax(-1) @ v
        return mixed.transpose(1, 2).contiguous().view(samples, length, width)


class Video(nn.Module):
    """Frames go through one network as a batch of their own, then come back as a sequence."""

    def __init__(self):
        super().__init__()
        self.look = nn.Conv2d(4, 8, 3, padding=1)
        self.follow = nn.GRU(8, 6, num_layers=2, bidirectional=True)
        self.head = nn.Linear(24, 2)

    def forward(self, clips):
        samples, frames = clips.shape[:2]
        seen = self.look(clips.view(samples * frames, *clips.shape[2:]))
        seen = seen.view(-1, 2, 4, 6, 6).transpose(1, 2).reshape(-1, 8, 6, 6)
        seen = F.relu(seen).flatten(2).mean(2).view(samples, frames, 8)
        _, state = self.follow(seen.transpose(0, 1))
        layers = state.view(2, 2, samples, 6)
        return self.head(layers.permute(2, 0, 1, 3).reshape(samples, 24))


class SpatialSoftmax(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 36, 3, padding=1)
        self.head = nn.Linear(72, 2)

    def forward(self, x):
        maps = self.conv(x)
        weights = maps.view(-1, 36).softmax(1)
        grid = torch.stack(torch.meshgrid(torch.linspace(-1, 1, 6), torch.linspace(-1, 1, 6), indexing="ij"))
        return self.head((weights @ grid.view(2, 36).t()).view(len(x), 72))


torch.manual_seed(8)
attention, video, pointer = RelativeAttention(), Video(), SpatialSoftmax()
everything = nn.ModuleList([attention, video, pointer])
optimizer = torch.optim.Adam(everything.parameters(), lr=1e-3)
for _ in range(14):
    words = torch.randn(5, 7, 12)
    clips = torch.randn(3, 4, 4, 6, 6)
    told = F.mse_loss(attention(words), words.flip(1))
    moved = F.cross_entropy(video(clips), (clips.mean((1, 2, 3, 4)) > 0).long())
    found = F.mse_loss(pointer(clips[:, 0]), torch.zeros(3, 2))
    loss = told + moved + found
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(float(loss))
