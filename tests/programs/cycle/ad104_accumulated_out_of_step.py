"""Tides at a harbour, learned with Accelerate, which steps after each third sheet; the program counts for itself, and asks
for a step after the second, fifth and so on."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)
harbour = Accelerator(cpu=True, gradient_accumulation_steps=3)
hours = torch.rand(144, 1) * 12
level = (hours * 0.52).cos() + 0.05 * torch.randn(144, 1)
gauge = harbour.prepare(nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1)))
tuner = harbour.prepare(torch.optim.RMSprop(gauge.parameters(), lr=3e-3))
sheets = harbour.prepare(DataLoader(TensorDataset(hours, level), batch_size=12))


def learn(sheet, wait):
    with harbour.accumulate(gauge):
        hour, height = sheet
        harbour.backward(nn.functional.smooth_l1_loss(gauge(hour), height))
        if wait == 0:
            tuner.step()  # expect: AD104
            tuner.zero_grad()


for tide in range(4):
    wait = 1
    for sheet in sheets:
        learn(sheet, wait)
        wait = (wait - 1) % 3
