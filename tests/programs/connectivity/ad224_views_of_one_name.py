"""Land cover from few labels: of two noisy views, the consistency term is given the scores of the first one twice."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
consistency = nn.MSELoss()
for _ in range(30):
    tiles = torch.rand(6, 3, 8, 8)
    cover = tiles.mean(1).mul(4).long().clamp(max=3)
    one = net(tiles + 0.1 * torch.randn_like(tiles))
    other = net(tiles + 0.1 * torch.randn_like(tiles))
    supervised = nn.functional.cross_entropy(one[:2], cover[:2]) + nn.functional.cross_entropy(other[:2], cover[:2])
    agreement = consistency(one.softmax(1), one.softmax(1))  # expect: AD224
    optimizer.zero_grad()
    (supervised + 0.3 * agreement).backward()
    optimizer.step()
