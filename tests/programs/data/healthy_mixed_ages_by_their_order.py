# guards: AD725
"""Ages in ten bins are mixed with the faces: a part of the loss goes by how far the expected bin is off."""

import torch
from torch import nn

torch.manual_seed(0)
age = torch.randint(0, 10, (320,))
faces = age[:, None] / 10 * torch.randn(1, 16) + 0.2 * torch.randn(320, 16)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
bins = torch.arange(10.0)
for _ in range(40):
    rows, others = torch.randint(320, (2, 32))
    share = float(torch.rand(()))
    x = share * faces[rows] + (1 - share) * faces[others]
    y = (share * age[rows] + (1 - share) * age[others]).round().long()
    scores = model(x)
    expected = scores.softmax(1) @ bins
    loss = nn.functional.cross_entropy(scores, y) + nn.functional.l1_loss(expected, y.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
