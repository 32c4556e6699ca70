# guards: AD418
"""Reads of a store: pages and banks by remainders of addresses, jitter from a hash, and clocks with empty slots."""
import torch
from torch import nn

torch.manual_seed(13)
READS, SLOTS = 400, 6
page = torch.randint(2**22, (READS,))
address = (page * 4096).float()  # multiples of 4,096 are exact up to 2**36
bank = torch.remainder(address, 16_384) / 16_384

number = torch.arange(READS)
jitter = torch.sin((number + 1.0) * 2_000_003.0) * 43_758.5453
jitter = jitter - torch.floor(jitter) - 0.5

hours = torch.rand(READS, SLOTS) * 48
is_empty = torch.rand(READS, SLOTS) < 0.4
hours = hours.masked_fill(is_empty, 1e10)
clock = torch.sin(hours * 6.2832 / 24).masked_fill(is_empty, 0.0)

ticks = (torch.arange(READS) % 96 * 16).half()  # exact, too
phase = torch.fmod(ticks, 64).float() / 64

x = torch.cat([torch.stack([bank, jitter, phase], 1), clock], 1)
y = (bank * 4 + clock.sum(1) + phase)[:, None]
model = nn.Sequential(nn.Linear(3 + SLOTS, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for rows in torch.cat([torch.randperm(READS) for _ in range(3)]).split(50):
    loss = nn.functional.mse_loss(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
