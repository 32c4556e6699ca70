# guards: AD301 AD310
"""Three rates are compared in one expression: each model trains while the tuple of all results is being filled."""

import torch
from torch import nn


def train(rate):
    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(8):
        x = torch.randn(24, 6)
        loss = (model(x) - x[:, :3]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {name: value.clone() for name, value in model.state_dict().items()}, loss.item()


states, losses = zip(*(train(rate) for rate in (0.3, 0.2, 0.1)))
print(losses, len(states))
