# guards: AD116 AD220
"""Activation maximisation: a fixed network, and an image that is replaced by a better one in every round."""

import torch
from torch import nn

torch.manual_seed(3)
net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 4)).eval()
for p in net.parameters():
    p.requires_grad_(False)

image = torch.rand(1, 1, 12, 12, requires_grad=True)
for i in range(25):
    score = net(image)[0, 2]
    score.backward()
    g = image.grad / (image.grad.norm() + 1e-8)
    image = (image + 0.1 * g).clamp(0, 1).detach().requires_grad_(True)
print(score.item())
