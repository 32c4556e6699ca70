# guards: AD204
# hinted: AD204
"""A new front before a decoder that was ported: its parameters are made of arrays that another library had learned. Only
the front learns."""

import numpy as np
import torch
from torch import nn

rng = np.random.RandomState(3)
ported = {"hidden": (rng.randn(16, 6) / 2, rng.randn(16) / 4), "out": (rng.randn(3, 16) / 4, rng.randn(3) / 4)}


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(6, 16)
        self.out = nn.Linear(16, 3)

    def port(self, arrays):
        for name, (weight, bias) in arrays.items():
            layer = getattr(self, name)
            layer.weight = nn.Parameter(torch.from_numpy(weight).float())
            layer.bias = nn.Parameter(torch.from_numpy(bias).float())
        return self

    def forward(self, code):
        return self.out(torch.relu(self.hidden(code)))


torch.manual_seed(1)
front, decoder = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 6)), Decoder().port(ported)
optimizer = torch.optim.Adam(front.parameters(), lr=3e-3)
for _ in range(40):
    signal = torch.randn(64, 10)
    with torch.no_grad():
        wanted = torch.stack([signal[:, 0], signal[:, 1].abs(), signal.mean(1)], dim=1)
    loss = nn.functional.mse_loss(decoder(front(signal)), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
