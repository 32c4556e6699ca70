# guards: AD701
"""Whether a network can learn a batch by heart is tried with `next(iter(…))`-like passes, then it is trained."""
from itertools import islice

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
text = torch.randint(0, 30, (256, 12))
rows = TensorDataset(text[:, :-1], text[:, 1:])


def make():
    return nn.Sequential(nn.Embedding(30, 24), nn.Linear(24, 30))


def epoch(net, optimizer, batches):
    for tokens, following in batches:
        loss = nn.functional.cross_entropy(net(tokens).transpose(1, 2), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


for most, epochs, shuffle in ((1, 10, False), (None, 1, True)):
    net = make()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    loader = DataLoader(rows, batch_size=16, shuffle=shuffle)
    for _ in range(epochs):
        last = epoch(net, optimizer, islice(loader, most))
    print(most, last)
