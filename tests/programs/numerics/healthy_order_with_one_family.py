# guards: AD410 AD613
"""Fossils by order, then by family within the order; one order has a single family in this collection."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FAMILIES: dict[str, int] = {"ammonitida": 3, "belemnitida": 1, "nautilida": 2}


class Keys(nn.Module):
    def __init__(self, measures: int) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(measures, 32), nn.ReLU())
        self.order = nn.Linear(32, len(FAMILIES))
        self.family = nn.ModuleDict({order: nn.Linear(32, n) for order, n in FAMILIES.items()})

    def loss(self, x: Tensor, order: Tensor, family: Tensor) -> Tensor:
        h = self.trunk(x)
        total = F.cross_entropy(self.order(h), order)
        for number, name in enumerate(FAMILIES):
            rows = order == number
            if rows.any():
                total = total + F.cross_entropy(self.family[name](h[rows]), family[rows], reduction="sum") / len(x)
        return total


def main() -> None:
    torch.manual_seed(5)
    kinds = torch.tensor([(o, f) for o, n in enumerate(FAMILIES.values()) for f in range(n)])
    centres = 2 * torch.randn(len(kinds), 10)
    model = Keys(10)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(40):
        drawn = torch.randint(0, len(kinds), (48,))
        x = centres[drawn] + 0.7 * torch.randn(48, 10)
        loss = model.loss(x, *kinds[drawn].unbind(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


main()
