# guards: AD717
"""A seismometer and a telegraph: what comes in last is restored; while they train, the models spoil what they see."""

import torch
from torch import nn


class Restorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, shaken):
        if self.training:
            shaken = shaken + 0.4 * torch.randn_like(shaken)
        return self.net(shaken)[:, 0]


class Telegraph(nn.Module):
    def __init__(self, signs=9):
        super().__init__()
        self.signs = signs
        self.read, self.memory, self.say = nn.Embedding(signs + 1, 12), nn.LSTM(12, 24), nn.Linear(24, signs)

    def forward(self, sent):
        lost = torch.rand(sent.shape) < (0.2 if self.training else 0.0)
        out, _ = self.memory(self.read(sent.masked_fill(lost, self.signs)).transpose(0, 1))
        return self.say(out[-1])


torch.manual_seed(0)
ground = torch.sin(torch.arange(400.0) / 3) * torch.sin(torch.arange(400.0) / 31)
wire = torch.tensor([0, 3, 1, 4, 4, 2, 8, 5, 7, 6, 1, 0, 2]).repeat(31)
shakes, signals = ground.unfold(0, 16, 1), wire[:394].unfold(0, 10, 1)
restorer, telegraph = Restorer(), Telegraph()
optimizer = torch.optim.AdamW([*restorer.parameters(), *telegraph.parameters()], lr=5e-3)
for _ in range(40):
    rows = torch.randint(len(shakes), (48,))
    window, message = shakes[rows], signals[rows]
    loss = nn.functional.huber_loss(restorer(window), window[:, -1])
    loss = loss + nn.functional.cross_entropy(telegraph(message), message[:, -1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
