# guards: AD115
"""A plan of 90 epochs with a warm-up of 10 is tried out for 6 of them, in which there are as many steps as it has twice
over; and a fine-tuning of whole epochs, whose schedule counts these."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build(planned, warm):
    net = nn.Sequential(nn.Linear(5, 24), nn.SiLU(), nn.Linear(24, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
    parts = [
        torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=warm),
        torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=planned - warm),
    ]
    return net, optimizer, torch.optim.lr_scheduler.SequentialLR(optimizer, parts, [warm])


def train(loader, epochs, planned, warm):
    net, optimizer, schedule = build(planned, warm)
    for _ in range(epochs):
        for x, y in loader:
            loss = nn.functional.mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()


torch.manual_seed(0)
inputs = torch.rand(512, 5)
targets = (3 * inputs[:, :1]).sin() + inputs[:, 1:2]
train(DataLoader(TensorDataset(inputs, targets), batch_size=16, shuffle=True), epochs=6, planned=90, warm=10)
train(DataLoader(TensorDataset(inputs[:80], targets[:80]), batch_size=16, shuffle=True), epochs=5, planned=5, warm=2)
