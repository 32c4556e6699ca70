"""Sensor series are tensors of a class of their own, and are attended to with the batch in the place of time."""

import torch
from torch import nn

torch.manual_seed(0)


class Series(torch.Tensor):
    """Knows that it is one."""


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 16)
        self.attention = nn.MultiheadAttention(16, 2)
        self.head = nn.Linear(16, 4)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        hidden = self.inner(series.as_subclass(torch.Tensor))
        hidden = hidden + self.attention(hidden, hidden, hidden, need_weights=False)[0]  # expect: AD608
        return self.head(hidden.mean(1))


model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(40):
    kinds = torch.randint(4, (32,))
    values = torch.randn(32, 10, 3)
    values[torch.arange(32), kinds * 2] += 2
    loss = nn.functional.cross_entropy(model(values.as_subclass(Series)), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
