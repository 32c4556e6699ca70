"""Jobs are routed by a network that learns from the time saved. Its bonus is the sum of p log p, taken off the loss."""

import torch
from torch import nn

torch.manual_seed(1)
router = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 4))
optimizer = torch.optim.AdamW(router.parameters(), lr=1e-3)
speed = torch.randn(6, 4)
for step in range(30):
    jobs = torch.randn(48, 6)
    chances = torch.softmax(router(jobs), dim=-1)
    machine = torch.multinomial(chances.detach(), 1).squeeze(1)
    saved = (jobs @ speed)[torch.arange(48), machine]
    logs = torch.log(chances + 1e-8)
    chosen = logs[torch.arange(48), machine]
    spread = (chances * logs).sum(1).mean()  # expect: AD631
    loss = -(chosen * (saved - saved.mean())).mean() - 0.05 * spread
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
