"""Layers written by hand; their first values are drawn, scaled and copied into place; the second one is left out."""

import torch
from torch import nn


class Dense(nn.Module):
    def __init__(self, fan_in: int, fan_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(fan_out, fan_in))
        self.bias = nn.Parameter(torch.zeros(fan_out))
        with torch.no_grad():
            self.weight.copy_(torch.randn(fan_out, fan_in) * (2 / fan_in) ** 0.5)
            self.bias.copy_(torch.linspace(-0.1, 0.1, fan_out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight.T + self.bias


torch.manual_seed(0)
first, second = Dense(6, 32), Dense(32, 2)
optimizer = torch.optim.Adam(first.parameters(), lr=1e-2)  # expect: AD204
for _ in range(20):
    x = torch.randn(64, 6)
    loss = nn.functional.cross_entropy(second(torch.relu(first(x))), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
