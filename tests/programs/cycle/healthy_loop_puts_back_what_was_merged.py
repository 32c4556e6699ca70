# guards: AD126
"""An adapter is merged by `eval()`; the loop keeps the weights before that, and loads them afterwards."""
import copy

import torch
import torch.nn.functional as F
from torch import nn


class Adapter(nn.Module):
    def __init__(self, conv, rank=2):
        super().__init__()
        self.conv = conv.requires_grad_(False)
        self.down = nn.Conv1d(conv.in_channels, rank, 1, bias=False)
        self.up = nn.Conv1d(rank, conv.out_channels, 1, bias=False)
        nn.init.zeros_(self.up.weight)
        self.merged = False

    def train(self, mode=True):
        if not mode and not self.merged:
            delta = self.up.weight[:, :, 0] @ self.down.weight[:, :, 0]
            self.conv.weight.data[:, :, 1] += delta.detach()
        self.merged = not mode
        return super().train(mode)

    def forward(self, x):
        return self.conv(x) if self.merged else self.conv(x) + self.up(self.down(x))


torch.manual_seed(13)
signals = torch.randn(288, 3, 20)
kinds = torch.randint(0, 2, (288,))
signals[kinds == 1, 0] += 1.5 * torch.sin(torch.arange(20.0))
layer = Adapter(nn.Conv1d(3, 16, 3, padding=1))
net = nn.Sequential(layer, nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 2))
optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=0.02)
for epoch in range(4):
    for rows in torch.randperm(256).split(32):
        optimizer.zero_grad()
        F.cross_entropy(net(signals[rows]), kinds[rows]).backward()
        optimizer.step()
    state = copy.deepcopy(net.state_dict())
    net.eval()
    with torch.no_grad():
        print(epoch, (net(signals[256:]).argmax(1) == kinds[256:]).float().mean().item())
    net.load_state_dict(state)
    net.train()
