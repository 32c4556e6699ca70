"""An autoencoder of grey values whose loss is given the batch for the prediction."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
data = torch.rand(256, 36) * torch.linspace(0.1, 0.9, 36)
auto = nn.Sequential(nn.Linear(36, 12), nn.ReLU(), nn.Linear(12, 36), nn.Sigmoid())
opt = torch.optim.Adam(auto.parameters(), lr=1e-3)
for epoch in range(20):
    for batch in data.split(32):
        out = auto(batch)
        loss = F.binary_cross_entropy(batch, out)  # expect: AD612
        opt.zero_grad()
        loss.backward()
        opt.step()
