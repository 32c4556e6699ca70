# guards: AD116 AD204
"""The weights of a pointwise policy lie in one buffer in shards, each of which is stepped as a part of its own."""

import torch
from torch import nn

torch.manual_seed(1)
shapes = {"enter": (16, 5), "bias": (16,), "leave": (3, 16)}
sizes = [torch.Size(shape).numel() for shape in shapes.values()]
buffer = 0.3 * torch.randn(sum(sizes))
policy = nn.ParameterDict(
    {name: nn.Parameter(part.view(shape)) for (name, shape), part in zip(shapes.items(), buffer.split(sizes))}
)
squares = torch.zeros_like(buffer)
good = torch.randn(5, 3)
for _ in range(40):
    state = torch.randn(64, 5)
    scores = torch.tanh(state @ policy["enter"].T + policy["bias"]) @ policy["leave"].T
    chance = torch.distributions.Categorical(logits=scores)
    action = chance.sample()
    reward = (state @ good).gather(1, action[:, None]).squeeze(1)
    loss = -(chance.log_prob(action) * (reward - reward.mean())).mean()
    slopes = torch.autograd.grad(loss, list(policy.values()))
    slope = torch.cat([each.flatten() for each in slopes])
    squares.lerp_(slope.square(), 0.1)
    with torch.no_grad():
        for first in range(0, len(buffer), 50):
            shard = slice(first, first + 50)
            buffer[shard] -= 0.01 * slope[shard] / (squares[shard].sqrt() + 1e-3)
