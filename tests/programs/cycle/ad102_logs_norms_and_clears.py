"""Norms of gradients are logged, and a helper clears them together with the log, before the step."""

import torch
from torch import nn


class Monitor:
    def __init__(self, model):
        self.model, self.norms = model, []

    def __call__(self):
        self.norms.append(sum(p.grad.norm().item() ** 2 for p in self.model.parameters()) ** 0.5)
        for p in self.model.parameters():
            p.data.clamp_(-2, 2)
        self.model.zero_grad()  # expect: AD102


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.SiLU(), nn.Linear(16, 1))
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
monitor = Monitor(model)
for step in range(20):
    x = torch.randn(32, 6)
    loss = nn.functional.huber_loss(model(x), x.square().sum(1, keepdim=True))
    loss.backward()
    monitor()
    optimizer.step()
    if step % 10 == 9:
        print(step, loss.item(), monitor.norms[-1])
