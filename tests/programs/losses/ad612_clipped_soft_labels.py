"""Soft labels of a memory, clipped, come first."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(120, 8)
soft = torch.rand(120, 4).softmax(1).clamp(0.05, 0.9)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(6):
    for low in range(0, 120, 20):
        log_p = nn.functional.log_softmax(net(x[low : low + 20]), dim=-1)
        loss = nn.functional.kl_div(soft[low : low + 20] * 0.9 + 0.02, log_p, reduction="sum")  # expect: AD612
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
