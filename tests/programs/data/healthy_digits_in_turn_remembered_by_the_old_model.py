# guards: AD702
"""Tasks in turn with pseudo-rehearsal: noise is labelled by the model as it was before the task, and goes along."""

import copy

import torch
from torch import nn

torch.manual_seed(2)
labels = torch.arange(5).repeat_interleave(60)
samples = 1.5 * torch.randn(5, 10)[labels] + torch.randn(300, 10)
model = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.03)
before = copy.deepcopy(model).eval()
for first in range(0, 300, 15):
    x, y = samples[first : first + 15], labels[first : first + 15]
    if first % 60 == 0:
        before.load_state_dict(model.state_dict())
    with torch.no_grad():
        noise = 3 * torch.randn(40, 10)
        remembered = before(noise).argmax(1)
    loss = nn.functional.cross_entropy(model(x), y)
    loss = loss + nn.functional.cross_entropy(model(noise), remembered)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
