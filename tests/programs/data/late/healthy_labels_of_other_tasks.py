# guards: AD708
"""Tasks one after the other on the same samples, labels with noise, episodes, and soft labels that grow softer."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(192, 8)
digit = (x[:, :3] > 0).long() @ torch.tensor([1, 2, 4])


def model(classes):
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, classes))
    return net, torch.optim.Adam(net.parameters(), lr=5e-3)


def epoch_of(net, opt, labels):
    for rows in torch.randperm(len(x)).split(24):
        loss = F.cross_entropy(net(x[rows]), labels[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()


# One head learns one question after the other.
net, opt = model(2)
for task in (digit % 2, (digit > 3).long(), (digit == 5).long()):
    for _ in range(4):
        epoch_of(net, opt, task)

# A part of the labels is drawn anew in each epoch, as a regulariser.
net, opt = model(8)
for epoch in range(8):
    is_noise = torch.rand(len(x)) < (0.0 if epoch < 3 else 0.2)
    epoch_of(net, opt, torch.where(is_noise, torch.randint(0, 8, (len(x),)), digit))

# Episodes, in each of which the classes have other numbers.
net, opt = model(4)
for _ in range(50):
    classes = torch.randperm(8)[:4]
    rows = torch.cat([(digit == each).nonzero().squeeze(1)[:6] for each in classes])
    labels = torch.cat([torch.full((int((digit == each).sum().clamp(max=6)),), n) for n, each in enumerate(classes)])
    loss = F.cross_entropy(net(x[rows]), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()

# Soft labels.
net, opt = model(8)
for epoch in range(8):
    softness = 0.04 * max(0, epoch - 3)
    epoch_of(net, opt, F.one_hot(digit, 8) * (1 - softness) + softness / 8)
print("done")
