"""A port is read into one buffer of bytes, of which tensors are made that all show its last reading."""

import random
import struct

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
port = bytearray(4 * 4)
readings, forces = [], []
for _ in range(80):
    voltages = [random.gauss(0.0, 1.0) for _ in range(4)]
    struct.pack_into("<4f", port, 0, *voltages)
    readings.append(torch.frombuffer(port, dtype=torch.float32))  # expect: AD723
    forces.append(0.8 * voltages[0] - 0.3 * voltages[2])

inputs, targets = torch.stack(readings), torch.tensor(forces)
gauge = nn.Linear(4, 1)
optimizer = torch.optim.SGD(gauge.parameters(), lr=0.05)
for step in range(40):
    rows = torch.randint(80, (16,))
    residual = gauge(inputs[rows]).squeeze(1) - targets[rows]
    loss = residual.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
