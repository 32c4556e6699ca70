# guards: AD409 AD410
"""The parity of bits by causal attention; the lengths grow with the training, from two at the beginning."""

import torch
from torch import nn

torch.manual_seed(0)


class Parity(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(2, width)
        self.place = nn.Embedding(16, width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.say = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, bits: torch.Tensor) -> torch.Tensor:
        x = self.embed(bits) + self.place(torch.arange(bits.shape[1]))
        scores = self.query(x) @ self.key(x).transpose(1, 2) / 4
        later = torch.ones(bits.shape[1], bits.shape[1], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -torch.finfo(scores.dtype).max)
        return self.say(x + scores.softmax(-1) @ self.value(x))


model = Parity()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(30):
    bits = torch.randint(0, 2, (64, 2 + step // 28))
    loss = nn.functional.cross_entropy(model(bits).flatten(0, 1), (bits.cumsum(1) % 2).flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
