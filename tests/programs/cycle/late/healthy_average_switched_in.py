# guards: AD121
# hinted: AD121
"""At the end of each epoch the model becomes its own average and goes on as that (Li et al., Switch EMA, 2024)."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(440, 8)
y = (x[:, 0] + x[:, 1].abs() > 0.8).long()
model = nn.Sequential(nn.Linear(8, 40), nn.GELU(), nn.Linear(40, 2))
average = nn.Sequential(nn.Linear(8, 40), nn.GELU(), nn.Linear(40, 2))
average.load_state_dict(model.state_dict())
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(8):
    for rows in torch.randperm(400).split(20):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for smooth, p in zip(average.parameters(), model.parameters()):
                smooth.lerp_(p, 0.02)
    model.load_state_dict(average.state_dict())
    with torch.no_grad():
        print(epoch, nn.functional.cross_entropy(model(x[400:]), y[400:]).item())
