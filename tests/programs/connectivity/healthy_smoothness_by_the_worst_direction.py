# guards: AD224
"""Virtual adversarial training: the direction is sought from so near that the two distributions are the same."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
inputs = torch.randn(256, 12)
labels = inputs[:, :5].argmax(1)


def smoothness(samples, near=1e-6, far=1.0):
    with torch.no_grad():
        before = F.softmax(model(samples), dim=1)
    direction = F.normalize(torch.randn_like(samples), dim=1).requires_grad_()
    distance = F.kl_div(F.log_softmax(model(samples + near * direction), dim=1), before, reduction="batchmean")
    distance.backward()
    worst = F.normalize(direction.grad, dim=1)
    model.zero_grad()
    return F.kl_div(F.log_softmax(model(samples + far * worst), dim=1), before, reduction="batchmean")


for _ in range(30):
    rows = torch.randint(0, 256, (32,))
    loss = F.cross_entropy(model(inputs[rows]), labels[rows]) + smoothness(torch.randn(48, 12))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
