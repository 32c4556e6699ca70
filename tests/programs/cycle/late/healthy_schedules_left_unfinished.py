# guards: AD115
"""Trainings that end before their schedules: one stops early, one is a slice of a longer one, one is tried out for a few
batches of each epoch, one shares its schedule between two stages, one plans in updates of several batches, and one in
hundreds of epochs."""

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, MultiStepLR, OneCycleLR
from torch.utils.data import DataLoader, TensorDataset


def build(rate=3e-3):
    net = nn.Sequential(nn.Linear(6, 24), nn.SiLU(), nn.Linear(24, 1))
    return net, torch.optim.AdamW(net.parameters(), lr=rate)


def step(net, optimizer, x, y):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def stops_early(loader, epochs=50):
    net, optimizer = build()
    cycle = OneCycleLR(optimizer, max_lr=3e-3, total_steps=epochs * len(loader))
    for epoch in range(epochs):
        losses = []
        for x, y in loader:
            losses.append(step(net, optimizer, x, y))
            cycle.step()
        if epoch == 4:  # as patience would have it
            return sum(losses)


def slice_of_a_long_training(loader, planned=320, now=20):
    net, optimizer = build()
    cosine = CosineAnnealingLR(optimizer, T_max=planned * len(loader))
    for _ in range(now // 5):
        for x, y in loader:
            step(net, optimizer, x, y)
            cosine.step()
    return cosine.state_dict()


def tried_out(loader, epochs=5, batches=3):
    net, optimizer = build()
    cosine = CosineAnnealingLR(optimizer, T_max=epochs * len(loader))
    for _ in range(epochs):
        for number, (x, y) in enumerate(loader):
            if number >= batches:
                break
            step(net, optimizer, x, y)
            cosine.step()


def two_stages(loader, other, epochs=2):
    net, optimizer = build()
    warm = LinearLR(optimizer, 0.1, total_iters=epochs * (len(loader) + len(other)))
    for stage in (loader, other):
        for _ in range(epochs):
            for x, y in stage:
                step(net, optimizer, x, y)
                warm.step()


def in_updates(loader, epochs=4, accumulate=4):
    net, optimizer = build()
    cycle = OneCycleLR(optimizer, max_lr=3e-3, total_steps=epochs * len(loader) // accumulate)
    for _ in range(epochs):
        for number, (x, y) in enumerate(loader, start=1):
            (nn.functional.mse_loss(net(x), y) / accumulate).backward()
            if number % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
                cycle.step()


def hundreds_of_epochs(loader):
    net, optimizer = build()
    steps = MultiStepLR(optimizer, milestones=[300, 400])
    for _ in range(6):
        for x, y in loader:
            step(net, optimizer, x, y)
        steps.step()


torch.manual_seed(0)
inputs = torch.rand(256, 6)
targets = (3 * inputs[:, :1]).sin() + inputs[:, 1:2]


def loader_of(first, last, size=8):
    return DataLoader(TensorDataset(inputs[first:last], targets[first:last]), batch_size=size, shuffle=True)


print(stops_early(loader_of(0, 64)))
print(slice_of_a_long_training(loader_of(0, 48))["last_epoch"])
tried_out(loader_of(0, 80, 4))
two_stages(loader_of(0, 64), loader_of(64, 128))
in_updates(loader_of(0, 96))
hundreds_of_epochs(loader_of(0, 64, 8))
