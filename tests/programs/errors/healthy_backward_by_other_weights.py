# guards: AD503
"""The signs of weights carry the error back (Liao et al., 2016): weights are swapped for the backward, and back again."""

import torch
from torch import nn

torch.manual_seed(2)
net = nn.Sequential(nn.Linear(7, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 2))
upper = [layer.weight for layer in net[2:] if isinstance(layer, nn.Linear)]
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for step in range(40):
    x = torch.randn(64, 7)
    loss = nn.functional.mse_loss(net(x), torch.stack([x[:, 0] * x[:, 1], x[:, 2]], 1))
    optimizer.zero_grad()
    own = [weight.data.clone() for weight in upper]
    for weight, values in zip(upper, own, strict=True):
        weight.data.copy_(values.sign() * values.abs().mean())
    loss.backward()
    for weight, values in zip(upper, own, strict=True):
        weight.data.copy_(values)
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
