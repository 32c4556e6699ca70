# guards: AD708
"""Two loaders that draw in one order, by generators that get one seed in each epoch; and two of data that are no pairs,
of which moments are compared, of as many features as there are samples in a batch."""

import torch
from torch import nn
from torch.utils.data import DataLoader


def shuffled(data, seed):
    return DataLoader(data, batch_size=24, shuffle=True, generator=torch.Generator().manual_seed(seed))


torch.manual_seed(0)
x = torch.randn(96, 4)
model, flow = nn.Linear(4, 1), nn.Linear(4, 4)
optimizer = torch.optim.Adam([*model.parameters(), *flow.parameters()], lr=1e-2)
waves = torch.randn(4, 24)
inputs, targets = shuffled(x, 5), shuffled(x.sum(1, keepdim=True), 5)
sources, others = shuffled(torch.randn(96, 4), 1), shuffled(torch.randn(96, 4) + 1, 2)
for epoch in range(3):
    for loader in (inputs, targets):  # what `zip` comes to its end with has drawn once more than the other
        loader.generator.manual_seed(epoch)
    for given, wanted in zip(inputs, targets):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(given), wanted).backward()
        optimizer.step()
    for source, other in zip(sources, others):
        optimizer.zero_grad()
        mine, theirs = (flow(source) @ waves).cos().mean(0), (other @ waves).cos().mean(0)
        nn.functional.mse_loss(mine, theirs).backward()
        optimizer.step()
