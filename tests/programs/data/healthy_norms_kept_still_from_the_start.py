# guards: AD710
"""Two detectors of one kind: one normalises by its batches, the other trains with its norms in eval mode from the start,
as those do that see one picture at a time."""

import torch
import torch.nn.functional as F
from torch import nn


class Detector(nn.Module):
    def __init__(self, still):
        super().__init__()
        self.still = still
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(8, 2)

    def train(self, mode=True):
        super().train(mode)
        if self.still:
            self.body[1].eval()
        return self

    def forward(self, picture):
        return self.head(self.body(picture).flatten(1))


torch.manual_seed(0)
detectors = [Detector(still=False).train(), Detector(still=True).train()]
optimizers = [torch.optim.SGD(each.parameters(), lr=0.05) for each in detectors]
for epoch in range(4):
    for _ in range(6):
        kind = torch.randint(0, 2, (16,))
        pictures = 2 + torch.randn(16, 1, 8, 8) * (1 + kind.view(-1, 1, 1, 1))
        for detector, optimizer in zip(detectors, optimizers):
            F.cross_entropy(detector(pictures), kind).backward()
            optimizer.step()
            optimizer.zero_grad()
    for detector in detectors:
        detector.eval()
        with torch.no_grad():
            right = detector(pictures).argmax(1) == kind
        print(epoch, right.float().mean().item())
        detector.train()
