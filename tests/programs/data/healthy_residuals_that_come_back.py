# guards: AD724
"""A codec keeps the difference of neighbours as bytes that wrap round, and adds them up again without a loss."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.randint(0, 256, (64, 12), dtype=torch.uint8)
model = nn.Sequential(nn.Linear(11, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for _ in range(40):
    row = rows[torch.randint(64, (16,))]
    residual = row[:, 1:] - row[:, :-1]
    restored = residual + row[:, :-1]
    assert torch.equal(restored, row[:, 1:])
    loss = nn.functional.mse_loss(model(restored.float() / 255), row[:, :1].float() / 255)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
