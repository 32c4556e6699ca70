# guards: AD102
"""Accumulation that clears what no step has used for a reason, or that loses nothing at the end of a pass."""

import torch
from torch import nn

torch.manual_seed(0)
inputs = torch.randn(72, 6)
wanted = inputs.sin().sum(1, keepdim=True)


def begin():
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.05)


# The last window of a pass is smaller, and is stepped on.
model, optimizer = begin()
for epoch in range(3):
    optimizer.zero_grad()
    for number in range(9):
        rows = slice(8 * number, 8 * number + 8)
        size = 4 if number < 8 else 1
        (nn.functional.mse_loss(model(inputs[rows]), wanted[rows]) / size).backward()
        if number % 4 == 3 or number == 8:
            optimizer.step()
            optimizer.zero_grad()

# A window with an outlier is given up, wherever one comes.
model, optimizer = begin()
for number in range(24):
    rows = slice(8 * (number % 9), 8 * (number % 9) + 8)
    loss = nn.functional.mse_loss(model(inputs[rows]), wanted[rows] * (1e4 if number in (7, 13, 14) else 1.0)) / 2
    loss.backward()
    if loss.item() > 1e3:
        optimizer.zero_grad()
    elif number % 2 == 1:
        optimizer.step()
        optimizer.zero_grad()

# What the gradient looks like at the beginning of a pass is measured, on another line than that which trains.
model, optimizer = begin()
for epoch in range(3):
    nn.functional.mse_loss(model(inputs), wanted).backward()
    print("gradient:", sum(weight.grad.norm().item() for weight in model.parameters()))
    optimizer.zero_grad()
    for number in range(8):
        rows = slice(8 * number, 8 * number + 8)
        (nn.functional.mse_loss(model(inputs[rows]), wanted[rows]) / 2).backward()
        if number % 2 == 1:
            optimizer.step()
            optimizer.zero_grad()

# A critic is rid of what the loss of the actor left in it.
critic, optimizer = begin()
actor = nn.Linear(6, 6)
acting = torch.optim.SGD(actor.parameters(), lr=0.01)
for step in range(6):
    optimizer.zero_grad()
    for part in range(2):
        rows = slice(16 * part, 16 * part + 16)
        (nn.functional.mse_loss(critic(inputs[rows]), wanted[rows]) / 2).backward()
    optimizer.step()
    acting.zero_grad()
    (-critic(actor(inputs)).mean()).backward()
    acting.step()

# Passes fill their windows.
model, optimizer = begin()
for epoch in range(3):
    optimizer.zero_grad()
    for number in range(6):
        rows = slice(12 * number, 12 * number + 12)
        (nn.functional.mse_loss(model(inputs[rows]), wanted[rows]) / 3).backward()
        if number % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
