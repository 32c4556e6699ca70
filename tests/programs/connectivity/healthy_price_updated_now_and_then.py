# guards: AD204
"""Bids under a budget: the price of a constraint gathers its gradient over 20 batches, then climbs along it by hand."""

import torch
from torch import nn

WINDOW = 20


class Bidder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1), nn.Softplus())
        self.price = nn.Parameter(torch.tensor(0.2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x).squeeze(1)


torch.manual_seed(0)
bidder = Bidder()
optimizer = torch.optim.Adam(bidder.body.parameters(), lr=5e-3)
for batch in range(1, 61):
    x = torch.randn(64, 5)
    bids = bidder(x)
    overspent = bids.mean() - 0.4
    loss = (bids - x[:, 0].exp()).square().mean() + bidder.price * overspent
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if batch % WINDOW == 0 and bidder.price.grad is not None:
        with torch.no_grad():
            bidder.price.add_(bidder.price.grad, alpha=1 / WINDOW).clamp_(min=0)
        bidder.price.grad = None
print(loss.item(), bidder.price.item())
