# guards: AD122
"""A good model is tuned on labels of which a third is wrong: its share of mistakes rises from the first epoch on, while
the loss falls, and the schedule rightly lowers the rate."""

import torch
from torch import nn

torch.manual_seed(0)
x, held_out = torch.randn(128, 20), torch.randn(400, 20)
truth = (held_out[:, 0] > 0).long()
labels = (x[:, 0] > 0).long()
labels = torch.where(torch.rand(128) < 0.3, 1 - labels, labels)
network = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Linear(256, 2))

first = torch.optim.Adam(network.parameters(), lr=1e-3)
for _ in range(20):
    clean = torch.randn(64, 20)
    first.zero_grad()
    nn.functional.cross_entropy(network(clean), (clean[:, 0] > 0).long()).backward()
    first.step()

optimizer = torch.optim.Adam(network.parameters(), lr=4e-3)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", patience=1, factor=0.5)
for epoch in range(10):
    network.train()
    for rows in torch.randperm(128).split(32):
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(x[rows]), labels[rows]).backward()
        optimizer.step()
    network.eval()
    with torch.no_grad():
        wrong = (network(held_out).argmax(1) != truth).sum().item()
    plateau.step(wrong / len(held_out))
    print(epoch, wrong / len(held_out))
