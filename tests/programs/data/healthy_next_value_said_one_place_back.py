# guards: AD717
"""Bicycles at a counter, and steps of a dance: causal models see whole windows, and answer one place before the end."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
hours = torch.arange(500.0)
bikes = torch.sin(hours / 4) + 0.5 * torch.sin(hours / 27) + 0.1 * torch.randn(500)
dance = (torch.randint(1, 3, (500,)).cumsum(0) % 12).unfold(0, 12, 1)
counts = bikes.unfold(0, 12, 1)


class Causal(nn.Module):
    def __init__(self):
        super().__init__()
        self.near, self.norm, self.far = nn.Conv1d(1, 12, 3), nn.BatchNorm1d(12), nn.Conv1d(12, 1, 3, dilation=2)

    def forward(self, x):
        h = torch.relu(self.norm(self.near(F.pad(x[:, None], (2, 0)))))
        return self.far(F.pad(h, (4, 0)))[:, 0]


counter = Causal()
steps, memory, name = nn.Embedding(12, 8), nn.GRU(8, 24, batch_first=True), nn.Linear(24, 12)
modules = nn.ModuleList([counter, steps, memory, name])
optimizer = torch.optim.Adam(modules.parameters(), lr=5e-3)
for turn in range(40):
    rows = torch.randperm(len(counts))[:32]
    x, danced = counts[rows], dance[rows]
    following = name(memory(steps(danced))[0]).log_softmax(-1)
    loss = (counter(x)[:, -2] - x[:, -1]).abs().mean() + F.nll_loss(following[:, -2], danced[:, -1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if turn % 13 == 0:
        print(turn, round(loss.item(), 3))
