"""An ensemble in one batch: each member scales features of its own, and the members' opinions are averaged."""

import torch
import torch.nn.functional as F
from torch import nn

MEMBERS, BATCH = 4, 12


class Scaled(nn.Module):
    def __init__(self, size, out):
        super().__init__()
        self.shared = nn.Linear(size, out)
        self.before = nn.Parameter(torch.randn(MEMBERS, size).sign())
        self.behind = nn.Parameter(torch.randn(MEMBERS, out).sign())

    def forward(self, x):
        samples = len(x) // MEMBERS
        before, behind = (each.repeat_interleave(samples, 0) for each in (self.before, self.behind))
        return self.shared(x * before) * behind


torch.manual_seed(0)
model = nn.Sequential(Scaled(6, 16), nn.ReLU(), Scaled(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
inputs = torch.randn(96, 6)
labels = inputs[:, :3].argmax(1)
for _ in range(30):
    rows = torch.randint(0, 96, (BATCH,))
    scores = model(inputs[rows].repeat(MEMBERS, 1)).view(BATCH, MEMBERS, 3)  # expect: AD617
    loss = F.nll_loss(scores.softmax(2).mean(1).log(), labels[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
