# guards: AD728
"""What a frozen network made of other samples, an epoch ago, is what each sample is pushed away from."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
points = torch.randn(160, 10)
loader = DataLoader(TensorDataset(points), batch_size=20, shuffle=True)
frozen = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 5)).requires_grad_(False)
bank = [frozen(x) for (x,) in loader]
model = nn.Linear(10, 5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for _ in range(5):
    for (x,), others in zip(loader, bank, strict=True):
        anchor = model(x)
        near = (anchor - frozen(x + 0.01 * torch.randn_like(x))).square().sum(1)
        far = (anchor - others).square().sum(1)
        loss = nn.functional.relu(near - far + 1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
