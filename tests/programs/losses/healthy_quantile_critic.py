# guards: AD604
"""Distributional Q-learning: every quantile of the prediction against every sample of the target, on purpose."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
Q = 16
net, slow = nn.Linear(4, 2 * Q), nn.Linear(4, 2 * Q)
slow.load_state_dict(net.state_dict())
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
levels = (torch.arange(Q) + 0.5) / Q
for step in range(20):
    s, s2 = torch.randn(16, 4), torch.randn(16, 4)
    a, r = torch.randint(2, (16,)), torch.rand(16)
    now = net(s).view(-1, 2, Q)[torch.arange(16), a]
    with torch.no_grad():
        later = slow(s2).view(-1, 2, Q)
        best = later.mean(2).argmax(1)
        target = r.unsqueeze(1) + 0.9 * later[torch.arange(16), best]
    error = target.unsqueeze(1) - now.unsqueeze(2)
    across = F.huber_loss(now.unsqueeze(2).expand(-1, Q, Q), target.unsqueeze(1).expand(-1, Q, Q), reduction="none")
    loss = ((levels.view(1, Q, 1) - (error < 0).float()).abs() * across).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
