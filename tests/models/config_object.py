from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Sizes:
    vocabulary: int = 40
    width: int = 24
    context: int = 16


class Mix(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm = nn.LayerNorm(config.width)
        self.inner = nn.Linear(config.width, config.width)

    def forward(self, x):
        return x + torch.tanh(self.inner(self.norm(x)))


class Speaker(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.places = nn.Embedding(config.context, config.width)
        self.mix = nn.ModuleList(Mix(config) for _ in range(2))
        self.head = nn.Linear(config.width, config.vocabulary)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        for mix in self.mix:
            x = mix(x)
        return self.head(x)
