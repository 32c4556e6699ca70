# guards: AD111
"""Currents of a coil: weights lie on the grid of bfloat16, as the chip has them, and what rounding takes off is put
back before the next step."""
import torch
from torch import nn

torch.manual_seed(8)
coil = nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 2))
rest = {weight: torch.zeros_like(weight) for weight in coil.parameters()}
optimizer = torch.optim.SGD(coil.parameters(), lr=0.004)
for turn in range(60):
    volts = torch.randn(64, 6)
    wanted = torch.stack([volts[:, 0] * volts[:, 1], volts[:, 2:].sum(1)], 1)
    loss = nn.functional.mse_loss(coil(volts), wanted)
    optimizer.zero_grad()
    loss.backward()
    for weight in coil.parameters():
        weight.grad.sub_(rest[weight] / 0.004)
    optimizer.step()
    with torch.no_grad():
        for weight, kept in rest.items():
            exact = weight.clone()
            weight.copy_(weight.bfloat16())
            kept.copy_(exact - weight)
