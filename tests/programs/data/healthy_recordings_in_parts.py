# guards: AD726
"""Recordings are shuffled, and each batch of them is learned from in parts, over which the state goes on."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
recordings = torch.randn(64, 30, 3).cumsum(1)
loader = DataLoader(TensorDataset(recordings), batch_size=16, shuffle=True)
layer, head = nn.GRU(3, 16, batch_first=True), nn.Linear(16, 3)
optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.01)
for _ in range(3):
    for (recording,) in loader:
        state = None
        for part in recording.split(6, dim=1):
            output, state = layer(part[:, :-1], state)
            loss = nn.functional.mse_loss(head(output), part[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            state = state.detach()
