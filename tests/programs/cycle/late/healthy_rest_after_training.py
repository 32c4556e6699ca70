# guards: AD104 AD103
"""After its training, a model is asked for slopes by the lines that trained it, and two others learn in turns."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 6)
y = x[:, :1] * x[:, 1:2]


def network():
    return nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))


def slopes(model, rows):
    model.zero_grad()
    error = (model(x[rows]) - y[rows]).square().mean()
    error.backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


# The Fisher information of what was learned, from slopes of single batches.
model = network()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for _ in range(80):
    slopes(model, torch.randint(0, 200, (40,)))
    optimizer.step()
fisher = torch.zeros(sum(parameter.numel() for parameter in model.parameters()))
for row in range(12):
    fisher += slopes(model, torch.tensor([row])).square()

# Two networks with an optimizer each; the loop steps both, and one of them rests for the second half.
one, other = network(), network()
both = [torch.optim.Adam(net.parameters(), lr=5e-3) for net in (one, other)]
for step in range(160):
    for optimizer in both:
        optimizer.zero_grad()
    taught = [one, other] if step < 80 else [one]
    sum((net(x) - y).square().mean() for net in taught).backward()
    for optimizer in both:
        optimizer.step()

# A margin that is kept at last: what has no loss has no backward.
model = network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
side = x[:, :1].sign()
for _ in range(300):
    optimizer.zero_grad()
    rows = torch.randint(0, 200, (20,))
    short = (0.1 - side[rows] * model(x[rows])).relu().mean()
    if short > 0.02:
        short.backward()
    optimizer.step()

# Accumulation over ever more batches.
model = network()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for batches in (1, 2, 4, 8, 16, 32):
    for _ in range(12):
        optimizer.zero_grad()
        for _ in range(batches):
            rows = torch.randint(0, 200, (8,))
            ((model(x[rows]) - y[rows]).square().mean() / batches).backward()
        optimizer.step()
print(float(fisher.mean()))
