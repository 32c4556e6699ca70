# guards: AD726
"""Sequences are drawn at random, and each one goes on from the state that was stored for it."""

import torch
from torch import nn

torch.manual_seed(0)
sequences, states = torch.randn(64, 9, 3), torch.zeros(64, 16)
layer, head = nn.GRU(3, 16, batch_first=True), nn.Linear(16, 3)
optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)
for _ in range(40):
    drawn = torch.randint(64, (16,))
    output, last = layer(sequences[drawn, :-1], states[drawn][None])
    loss = nn.functional.mse_loss(head(output), sequences[drawn, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    states[drawn] = last[0].detach()
