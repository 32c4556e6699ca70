# guards: AD114
"""Segmentation with accumulation; gradients are divided by the number of samples once, before the step."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)


def blobs(n):
    yy, xx = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    c = torch.rand(n, 2, 1, 1) * 12 + 2
    r = torch.rand(n, 1, 1) * 3 + 2
    mask = ((yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2 < r**2).float()
    return (mask + 0.4 * torch.randn(n, 16, 16))[:, None], mask[:, None]


x, y = blobs(200)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
net = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1)
)
opt = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
crit = nn.BCEWithLogitsLoss()
every = 5


def flush(k):
    for p in net.parameters():
        if p.grad is not None:
            p.grad.div_(k)
    opt.step()
    opt.zero_grad()


for epoch in range(6):
    pending = 0
    for xb, yb in loader:
        loss = crit(net(xb), yb)
        loss.backward()
        pending += 1
        if pending == every:
            flush(pending)
            pending = 0
    if pending:
        flush(pending)
    print(epoch, loss.item())
