import math
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F


@dataclass
class Settings:
    block_size: int = 12
    vocabulary: int = 27
    width: int = 24
    heads: int = 3
    layers: int = 2


class SelfAttention(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.heads = settings.heads
        self.to_all = nn.Linear(settings.width, 3 * settings.width)
        self.out = nn.Linear(settings.width, settings.width)

    def forward(self, x):
        batch, time, width = x.size()
        query, key, value = (
            part.view(batch, time, self.heads, width // self.heads).transpose(1, 2)
            for part in self.to_all(x).split(width, dim=2)
        )
        weights = (query @ key.transpose(-2, -1)) / math.sqrt(width // self.heads)
        mixed = F.softmax(weights, dim=-1) @ value  # expect: AD621
        return self.out(mixed.transpose(1, 2).reshape(batch, time, width))


class Block(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.before, self.between = nn.LayerNorm(settings.width), nn.LayerNorm(settings.width)
        self.attention = SelfAttention(settings)
        self.feed = nn.Sequential(
            nn.Linear(settings.width, 4 * settings.width), nn.GELU(), nn.Linear(4 * settings.width, settings.width)
        )

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.feed(self.between(x))


class LanguageModel(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.tokens = nn.Embedding(settings.vocabulary, settings.width)
        self.places = nn.Embedding(settings.block_size, settings.width)
        self.blocks = nn.ModuleList(Block(settings) for _ in range(settings.layers))
        self.norm = nn.LayerNorm(settings.width)
        self.scores = nn.Linear(settings.width, settings.vocabulary, bias=False)

    def forward(self, index, targets=None):
        x = self.tokens(index) + self.places(torch.arange(index.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.scores(self.norm(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return logits, loss


def main():
    torch.manual_seed(1337)
    settings = Settings()
    corpus = torch.randint(0, settings.vocabulary, (3000,))
    model = LanguageModel(settings)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for _ in range(30):
        starts = torch.randint(len(corpus) - settings.block_size, (16,))
        x = torch.stack([corpus[i : i + settings.block_size] for i in starts])
        y = torch.stack([corpus[i + 1 : i + 1 + settings.block_size] for i in starts])
        _, loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


main()
