"""An image classifier with a limit of gradients that was meant for the mean over all parameters' squares."""

import torch
from torch import nn

LIMIT = 1e-7

torch.manual_seed(1)
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
patterns = torch.randn(3, 1, 8, 8)
for _ in range(30):
    label = torch.randint(3, (24,))
    image = patterns[label] + 0.5 * torch.randn(24, 1, 8, 8)
    opt.zero_grad()
    nn.functional.cross_entropy(net(image), label).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=LIMIT)  # expect: AD412
    opt.step()
