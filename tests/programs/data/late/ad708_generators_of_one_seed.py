"""Two loaders whose generators begin with one seed; `zip` lets only the first come to its end, which draws once more."""

import torch
from torch import nn
from torch.utils.data import DataLoader


def in_the_same_order(data, size=32):
    generator = torch.Generator().manual_seed(7)
    return DataLoader(data, size, shuffle=True, generator=generator)  # expect: AD708


torch.manual_seed(3)
slopes = torch.rand(256, 5)
runoff = (slopes[:, 0] * 3 + slopes[:, 1:3].prod(1)).unsqueeze(1)
inputs, targets = in_the_same_order(slopes), in_the_same_order(runoff)
net = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.02)
for epoch in range(12):
    total = 0.0
    for given, wanted in zip(inputs, targets):
        loss = nn.functional.smooth_l1_loss(net(given), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(inputs))
