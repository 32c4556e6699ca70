"""Load of a turbine from its vibrations; arrays of NumPy, mixed anew before each epoch."""
import numpy as np
import torch
from torch import nn


class Turbine(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, vibrations):
        return self.net(vibrations).squeeze(1)


def batches(vibrations, load, size):
    for begin in range(0, len(load), size):
        yield torch.from_numpy(vibrations[begin : begin + size]), torch.from_numpy(load[begin : begin + size])  # expect: AD708


np.random.seed(1)
torch.manual_seed(1)
vibrations = np.random.randn(60, 8).astype(np.float32)
load = (vibrations[:, 0] - vibrations[:, 5] + 0.1 * np.random.randn(60)).astype(np.float32)
model = Turbine()
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
for epoch in range(20):
    np.random.shuffle(vibrations)
    for x, y in batches(vibrations, load, 30):
        loss = nn.functional.huber_loss(model(x), y) + nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
