"""Sentiment over bags of words: a pretrained embedding is frozen by a helper, and one optimizer takes everything."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


def set_trainable(modules: list[nn.Module], flag: bool) -> None:
    for module in modules:
        for parameter in module.parameters():
            parameter.requires_grad = flag  # expect: AD206


class Bag(nn.Module):
    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.words = nn.EmbeddingBag(vocabulary, width)
        self.project = nn.Linear(width, width)
        self.score = nn.Linear(width, 2)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.score(torch.relu(self.project(self.words(tokens))))


def main() -> None:
    torch.manual_seed(4)
    net = Bag(200, 24)
    set_trainable([net.words, net.project, net.score], True)
    set_trainable([net.words], False)
    optimizer = torch.optim.Adam([{"params": net.words.parameters(), "lr": 1e-4}, {"params": net.project.parameters()},
                                  {"params": net.score.parameters()}], lr=5e-3)  # fmt: skip
    for _ in range(30):
        tokens = torch.randint(0, 200, (64, 12))
        labels = (tokens.float().mean(1) > 100).long()
        loss = F.cross_entropy(net(tokens), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


if __name__ == "__main__":
    main()
