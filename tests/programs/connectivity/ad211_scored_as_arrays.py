"""Forecasts are scored as arrays, by a network that is in train mode all along."""
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)


def windows(n):
    wave = torch.sin(6.28 * torch.rand(n, 1) + 0.5 * torch.arange(9.0))
    return wave[:, :8], wave[:, 8:]


old, wanted = windows(100)
for step in range(28):
    seen, following = windows(32)
    loss = nn.functional.smooth_l1_loss(net(seen), following)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 7 == 6:
        with torch.no_grad():
            said = net(old).numpy()  # expect: AD211
        print(step, np.abs(said - wanted.numpy()).mean())
