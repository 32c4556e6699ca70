# guards: AD710 AD120
"""An average of the weights that takes the buffers along, and a copy of the best without batch statistics."""
import copy

import torch
from torch import nn


class Average:
    def __init__(self, model, decay):
        self.model, self.decay = copy.deepcopy(model).eval(), decay

    @torch.no_grad()
    def update(self, model):
        for mine, theirs in zip(self.model.parameters(), model.parameters()):
            mine.mul_(self.decay).add_(theirs, alpha=1 - self.decay)
        for mine, theirs in zip(self.model.buffers(), model.buffers()):
            mine.copy_(theirs)


def layers():
    return nn.Linear(5, 20), nn.GroupNorm(4, 20), nn.Tanh(), nn.Linear(20, 1)


torch.manual_seed(1)
model = nn.Sequential(nn.BatchNorm1d(5), *layers())
average = Average(model, 0.8)
best = nn.Sequential(nn.LayerNorm(5), *layers())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(48):
    x = 1 + torch.randn(32, 5)
    loss = nn.functional.mse_loss(model(x), x.prod(1, keepdim=True).clamp(-2, 2))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update(model)
    if step % 12 == 11:
        with torch.no_grad():
            for mine, theirs in zip(best.parameters(), model.parameters()):
                mine.copy_(theirs)
            x = 1 + torch.randn(64, 5)
            print(step, average.model(x).var().item(), best.eval()(x).var().item())
