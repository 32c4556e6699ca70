# guards: AD111
"""What is each example worth? One step on it, the gain on held-out data, and back again; then the best are learned."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
truth = torch.randn(8)
inputs, held_out = torch.randn(24, 8), torch.randn(40, 8)
labels, wanted = (inputs @ truth > 0).long(), (held_out @ truth > 0).long()
labels[::4] = 1 - labels[::4]
untouched = copy.deepcopy(model.state_dict())
gains = []
for i in range(24):
    optimizer.zero_grad()
    F.cross_entropy(model(inputs[i : i + 1]), labels[i : i + 1]).backward()
    optimizer.step()
    with torch.no_grad():
        gains.append(-F.cross_entropy(model(held_out), wanted).item())
    model.load_state_dict(untouched)
best = torch.tensor(gains).topk(12).indices
for _ in range(30):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(inputs[best]), labels[best])
    loss.backward()
    optimizer.step()
print(loss.item(), best.sort().values.tolist())
