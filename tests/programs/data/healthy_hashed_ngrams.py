# guards: AD724
"""Pairs of letters are hashed in whole numbers that wrap round, and looked up in a small table."""

import torch
from torch import nn


class Hashed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(256, 8)
        self.fast = nn.Embedding(256, 8)
        self.out = nn.Linear(16, 2)

    def forward(self, letters: torch.Tensor) -> torch.Tensor:
        pairs = letters[:, :-1].int() * 31_337 * 9_973 + letters[:, 1:].int() * 51_859
        quick = letters[:, 1:] * 37 + letters[:, :-1]
        return self.out(torch.cat([self.table(pairs % 256), self.fast(quick.long()).mean(1)], 1))


torch.manual_seed(0)
model = Hashed()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
words = torch.randint(97, 123, (64, 9), dtype=torch.uint8)
labels = (words[:, 0] < 110).long()
for _ in range(40):
    rows = torch.randint(64, (16,))
    loss = nn.functional.cross_entropy(model(words[rows]), labels[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
