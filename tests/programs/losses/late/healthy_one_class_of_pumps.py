# guards: AD638
"""What normal pumps sound like is drawn to one point, so that what is far from it is none of them."""

import torch
from torch import nn

torch.manual_seed(1)
normal = torch.randn(4, 24)


def sounds(count):
    return normal[torch.randint(4, (count,))] + 0.3 * torch.randn(count, 24)


network = nn.Sequential(nn.Linear(24, 48, bias=False), nn.LeakyReLU(0.1), nn.Linear(48, 12, bias=False))
with torch.no_grad():
    centre = network(sounds(400)).mean(0)
optimizer = torch.optim.Adam(network.parameters(), lr=5e-3, weight_decay=1e-4)
for step in range(80):
    embedded = network(sounds(64))
    loss = nn.functional.mse_loss(embedded, centre.expand_as(embedded))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
limit = (network(sounds(200)) - centre).square().sum(1).quantile(0.95)
print(f"beyond the limit: {((network(torch.randn(200, 24)) - centre).square().sum(1) > limit).float().mean():.2f}")
