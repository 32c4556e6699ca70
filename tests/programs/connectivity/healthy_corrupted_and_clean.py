# guards: AD211
"""An autoencoder that mends gaps: the error on corrupted inputs is measured in train mode, then that on clean ones."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
waves = torch.randn(280, 3) @ torch.randn(3, 16)
loader = DataLoader(TensorDataset(waves[:200]), batch_size=40, shuffle=True)
held_out = waves[200:]
net = nn.Sequential(nn.Dropout(0.25), nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 16))
adam = torch.optim.Adam(net.parameters(), lr=3e-3)
error = nn.MSELoss()


def measure():
    with torch.no_grad():
        mended = error(net(held_out), held_out).item()
        net.eval()
        copied = error(net(held_out), held_out).item()
        net.train()
    return mended, copied


for epoch in range(8):
    for (batch,) in loader:
        adam.zero_grad()
        error(net(batch), batch).backward()
        adam.step()
    print(epoch, *measure())
