# guards: AD710 AD211 AD201
"""Mean teacher: the teacher stays in train mode on purpose and gets no gradients."""

import torch
import torch.nn.functional as F
from torch import nn


def create(ema=False):
    net = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 3))
    if ema:
        for p in net.parameters():
            p.detach_()
    return net


torch.manual_seed(0)
model, ema = create(), create(True)
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
for step in range(10):
    model.train()
    ema.train()
    x = torch.randn(24, 8)
    y = torch.full((24,), -1)
    y[:8] = x[:8, :3].argmax(1)
    logits = model(x + 0.1 * torch.randn_like(x))
    with torch.no_grad():
        target = ema(x + 0.1 * torch.randn_like(x))
    loss = F.cross_entropy(logits, y, ignore_index=-1) + min(1, step / 5) * F.mse_loss(
        logits.softmax(1), target.softmax(1)
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
    alpha = min(1 - 1 / (step + 1), 0.99)
    for e, p in zip(ema.parameters(), model.parameters()):
        e.data.mul_(alpha).add_(p.data, alpha=1 - alpha)
    print(step, loss.item())
