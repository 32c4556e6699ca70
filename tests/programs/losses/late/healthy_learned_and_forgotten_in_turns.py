# guards: AD609
"""Each batch of what is to be known is followed by one of what is not: the sign of the loss changes from step to step."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(400, 6)
y = (x[:, 0] > 0).long()
secret = (x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
tells, leaks = nn.Linear(32, 2), nn.Linear(32, 2)
optimizer = torch.optim.Adam([*model.parameters(), *tells.parameters()], lr=2e-3)
against = torch.optim.Adam(leaks.parameters(), lr=1e-2)
for step in range(160):
    rows = torch.randint(0, 400, (40,))
    guess = nn.functional.cross_entropy(leaks(model(x[rows]).detach()), secret[rows])
    against.zero_grad()
    guess.backward()
    against.step()
    sign = 1.0 if step % 2 == 0 else -0.3
    hidden = model(x[rows])
    scores, labels = (tells(hidden), y[rows]) if sign > 0 else (leaks(hidden), secret[rows])
    loss = sign * nn.functional.cross_entropy(scores, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
