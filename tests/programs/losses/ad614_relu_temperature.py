"""Temperatures of tomorrow from those of the last week, in degrees."""

import torch
import torch.nn as nn

torch.manual_seed(0)
days = torch.arange(400.0)
celsius = 12 * torch.sin(days / 58) + 2 * torch.randn(400)
past = celsius.unfold(0, 7, 1)[:-1]
tomorrow = celsius[7:].unsqueeze(1)
net = nn.Sequential(nn.Linear(7, 16), nn.ReLU(), nn.Linear(16, 1), nn.ReLU())
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
loss_fn = nn.HuberLoss()
for epoch in range(30):
    prediction = net(past)  # expect: AD614
    loss = loss_fn(prediction, tomorrow)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
