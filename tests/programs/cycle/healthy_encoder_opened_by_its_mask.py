# guards: AD102 AD221
# hinted: AD410
"""A pretrained encoder of spoken digits under a new head. Each tensor has a mask that its gradient is multiplied by: all
masks of the encoder are closed until the head is warm, which is long after a check has ended."""

import torch
from torch import nn

torch.manual_seed(0)


class Masked:
    def __init__(self, parameters):
        self.parameters = list(parameters)
        self.masks = [torch.zeros_like(p) for p in self.parameters]

    def open(self):
        for mask in self.masks:
            mask.fill_(1.0)

    def apply(self):
        for p, mask in zip(self.parameters, self.masks):
            p.grad.mul_(mask)


encoder = nn.Sequential(nn.Linear(20, 24), nn.Tanh(), nn.Linear(24, 12), nn.Tanh())
head = nn.Linear(12, 4)
masked = Masked(encoder.parameters())
slow = torch.optim.SGD(encoder.parameters(), lr=0.02)
fast = torch.optim.Adam(head.parameters(), lr=5e-3)
frames = torch.randn(192, 20)
digits = (frames[:, :4] + 0.3 * torch.randn(192, 4)).argmax(1)

for epoch in range(20):
    if epoch == 14:
        masked.open()
    for rows in torch.randperm(192).split(32):
        loss = nn.functional.cross_entropy(head(encoder(frames[rows])), digits[rows])
        slow.zero_grad()
        fast.zero_grad()
        loss.backward()
        masked.apply()
        slow.step()
        fast.step()
