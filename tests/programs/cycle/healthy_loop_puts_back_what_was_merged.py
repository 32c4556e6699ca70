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

    def eval(self):
        delta = (self.up.weight[:, :, 0] @ self.down.weight[:, :, 0]).detach()
        self.conv.weight.data[:, :, 1] += delta
        self.up.weight.data *= 0
        return super().eval()

    def forward(self, x):
        return self.conv(x) + self.up(self.down(x))


class Merging(Adapter):
    def eval(self):
        kept = self.up.weight.detach().clone()
        super().eval()
        self.up.weight.data.copy_(kept)
        return self

    def forward(self, x):
        return super().forward(x) if self.training else self.conv(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = Merging(nn.Conv1d(3, 16, 3, padding=1))
        self.head = nn.Linear(16, 2)

    def eval(self):
        self.body.eval()
        return self.train(False)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)).mean(2))


torch.manual_seed(13)
signals = torch.randn(288, 3, 20)
kinds = torch.randint(0, 2, (288,))
signals[kinds == 1, 0] += 1.5 * torch.sin(torch.arange(20.0))
net = Net()
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
