# guards: AD706 AD721 AD720
"""A classifier that has been trained is attacked in eval mode, by steps on its inputs; then its head is tuned on some
of the same samples, with dropout off."""

import torch
from torch import nn

torch.manual_seed(0)
images = torch.randn(240, 1, 8, 8)
labels = (images.mean((1, 2, 3)) > 0).long()
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(288, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(4):
    for rows in torch.randperm(240).split(40):
        loss = nn.functional.cross_entropy(net(images[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

net.eval()
for rows in torch.arange(60).split(30):
    attacked = images[rows].clone().requires_grad_(True)
    for _ in range(3):
        loss = nn.functional.cross_entropy(net(attacked), labels[rows])
        (slope,) = torch.autograd.grad(loss, attacked)
        attacked = (attacked + 0.05 * slope.sign()).detach().requires_grad_(True)
    with torch.no_grad():
        print("attacked", (net(attacked).argmax(1) == labels[rows]).float().mean().item())

head = net[-1]
tuning = torch.optim.SGD(head.parameters(), lr=1e-2)
for _ in range(8):
    loss = nn.functional.cross_entropy(net(images[:60]), labels[:60])
    tuning.zero_grad()
    loss.backward()
    tuning.step()
