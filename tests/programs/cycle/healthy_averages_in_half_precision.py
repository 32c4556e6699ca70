# guards: AD121
"""Averages in half precision that follow: one with a large share of the new weights, one that keeps what rounding
takes, one that is rounded at random, and one of weights that have come to rest."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
fast = [weight.detach().bfloat16() for weight in model.parameters()]
compensated = [weight.detach().bfloat16() for weight in model.parameters()]
lost = [torch.zeros_like(weight) for weight in model.parameters()]
at_random = [weight.detach().bfloat16() for weight in model.parameters()]


def rounded_at_random(numbers: torch.Tensor) -> torch.Tensor:
    bits = numbers.contiguous().view(torch.int32)
    bits = bits + torch.randint_like(bits, 1 << 16)
    return (bits & -65536).view(torch.float32).bfloat16()


for _ in range(30):
    x = torch.randn(32, 8)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for place, weight in enumerate(model.parameters()):
            fast[place].lerp_(weight.bfloat16(), 0.2)
            change = 0.002 * (weight - compensated[place].float()) + lost[place]
            after = (compensated[place].float() + change).bfloat16()
            lost[place] = change - (after.float() - compensated[place].float())
            compensated[place].copy_(after)
            at_random[place].copy_(rounded_at_random(0.998 * at_random[place].float() + 0.002 * weight))
