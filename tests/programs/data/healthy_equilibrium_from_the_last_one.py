# guards: AD726
"""A state of equilibrium is found by iteration; that of the last shuffled batch is as good a beginning as zeros."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(128, 10)
loader = DataLoader(TensorDataset(x, x[:, :1] * x[:, 1:2]), batch_size=16, shuffle=True)
inner, outer, head = nn.Linear(16, 16), nn.Linear(10, 16), nn.Linear(16, 1)
optimizer = torch.optim.SGD(nn.ModuleList([inner, outer, head]).parameters(), lr=0.05)
z = torch.zeros(16, 16)
for _ in range(5):
    for given, wanted in loader:
        z = z.detach()
        for _ in range(12):
            z = torch.tanh(0.5 * inner(z) + outer(given))
        loss = nn.functional.mse_loss(head(z), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
