# guards: AD210 AD211
"""Attention whose dropout rate is set to zero, so that the mode makes no difference and nobody switches it."""

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, features: int, dropout: float) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(features, 3 * features), nn.Linear(features, 1)
        self.dropout = dropout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        weights = F.dropout(torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1), self.dropout, training=self.training)
        return self.out((weights @ v).mean(1))


torch.manual_seed(0)
model = Attention(8, dropout=0)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(12):
    x = torch.randn(16, 5, 8)
    optimizer.zero_grad()
    F.mse_loss(model(x), x.mean((1, 2)).unsqueeze(1)).backward()
    optimizer.step()
    if step % 3 == 2:
        with torch.no_grad():
            print(F.mse_loss(model(x), x.mean((1, 2)).unsqueeze(1)).item())
