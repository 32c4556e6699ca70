"""The head of a detector is given new weights at the beginning of each epoch, by a method meant to be called once."""

import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(1, 8, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten())
        self.head = nn.Linear(32, 1)

    def start(self):
        self.head.reset_parameters()  # expect: AD109
        return self

    def forward(self, x):
        return self.head(self.body(x)).squeeze(1)


torch.manual_seed(0)
counts = torch.randint(0, 5, (300,)).float()
signals = 0.1 * torch.randn(300, 1, 40)
for row, count in enumerate(counts.int().tolist()):
    signals[row, 0, torch.randperm(40)[:count]] += 2
counter = Counter()
optimizer = torch.optim.SGD(counter.parameters(), lr=0.02, momentum=0.9)
for epoch in range(10):
    model = counter.start()
    for rows in torch.randperm(300).split(20):
        loss = nn.functional.mse_loss(model(signals[rows]), counts[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
