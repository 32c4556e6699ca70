# guards: AD114
"""Losses of micro-batches that are divided by the number that is right for them, in several ways."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
x = torch.randn(240, 8)
y = x[:, :3].argmax(1)


def network(out=3):
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, out))


def whole_epoch():
    """One step for each pass: the loader's length is the number."""
    model, loader = network(), DataLoader(TensorDataset(x[:66], y[:66]), batch_size=6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for _ in range(4):
        optimizer.zero_grad()
        for a, b in loader:
            (F.cross_entropy(model(a), b) / len(loader)).backward()
        optimizer.step()


def remainder():
    """The last few micro-batches of each pass are fewer, and step as well."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for _ in range(5):
        parts = list(torch.randperm(240).split(40))
        for number, rows in enumerate(parts, 1):
            loss = F.cross_entropy(model(x[rows]), y[rows]) / 4
            loss.backward()
            if number % 4 == 0 or number == len(parts):
                optimizer.step()
                optimizer.zero_grad()


def real_and_fake():
    """A critic with two backwards for each micro-batch: half of each, of four."""
    critic = network(1)
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for _ in range(5):
        optimizer.zero_grad()
        for _ in range(4):
            real, fake = torch.randn(16, 8) + 1, torch.randn(16, 8)
            (F.binary_cross_entropy_with_logits(critic(real), torch.ones(16, 1)) / 8).backward()
            (F.binary_cross_entropy_with_logits(critic(fake), torch.zeros(16, 1)) / 8).backward()
        optimizer.step()


def shares():
    """Micro-batches of several sizes, each with its share of all samples; two terms that are weighed against each other."""
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(5):
        optimizer.zero_grad()
        for rows in torch.randperm(60).split(25):
            (F.cross_entropy(model(x[rows]), y[rows]) * len(rows) / 60).backward()
        optimizer.step()
        optimizer.zero_grad()
        for rows in torch.randperm(60).split(15):
            scores = model(x[rows])
            (0.2 * F.cross_entropy(scores, y[rows]) + 0.05 * scores.square().mean()).backward()
        optimizer.step()


whole_epoch()
remainder()
real_and_fake()
shares()
