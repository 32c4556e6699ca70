import math

import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(2)
CLASSES = 40


def embed(net, x):
    return F.normalize(net(x), p=2.0, dim=1)


net = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 20))
prototypes = nn.Parameter(torch.randn(CLASSES, 20))
opt = optim.SGD([{"params": net.parameters()}, {"params": [prototypes], "lr": 0.5}], lr=0.1, momentum=0.9)
centres = 2 * torch.randn(CLASSES, 10)
for it in range(60):
    y = torch.randint(0, CLASSES, (100,))
    x = centres[y] + 0.5 * torch.randn(100, 10)
    cosine = F.linear(embed(net, x), F.normalize(prototypes))
    logits = cosine / math.sqrt(CLASSES)  # <- AD624
    loss = -F.log_softmax(logits, dim=1)[torch.arange(100), y].mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
