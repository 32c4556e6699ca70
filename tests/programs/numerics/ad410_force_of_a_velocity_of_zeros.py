"""A cart whose drag is learned from its path, step by step; the drag is asked for a velocity of zeros.

Absolute errors have slopes of one and minus one, which may cancel where two places of the path meet, by chance.
"""

import torch
from torch import nn

torch.manual_seed(0)


class Cart(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.drag = nn.Linear(1, 1)
        self.strength = nn.Parameter(torch.tensor(2.0))

    def forward(self, velocity: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.drag(torch.zeros_like(velocity))) * self.strength


cart = Cart()
optimizer = torch.optim.Adam(cart.parameters(), lr=0.05)  # expect: AD410
seen = 1 - 0.4 * torch.linspace(0, 1, 11).square()
for _ in range(30):
    place, velocity = torch.ones(1), torch.zeros(1)
    path = [place]
    for _ in range(10):
        force = cart(velocity)
        place, velocity = place + 0.1 * velocity, velocity + 0.1 * force
        path.append(place)
    loss = (torch.stack(path)[:, 0] - seen).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
