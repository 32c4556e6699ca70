# guards: AD717
"""Words of a diary and the pressure of a pump: both models are handed whole windows, and keep the last one back."""

import torch
from torch import nn


class NextWord(nn.Module):
    def __init__(self, words=30):
        super().__init__()
        self.words, self.read, self.say = nn.Embedding(words, 12), nn.GRU(12, 20, batch_first=True), nn.Linear(20, words)

    def forward(self, window):
        _, state = self.read(self.words(window[:, :-1]))
        return self.say(state[0])


class NextPressure(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(9, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, window):
        return self.net(window[:, :-1])


torch.manual_seed(0)
diary = torch.randint(1, 5, (300,)).cumsum(0) % 30
pressure = torch.sin(torch.arange(300.0) / 7) + 0.1 * torch.randn(300)
words, values = diary.unfold(0, 10, 1), pressure.unfold(0, 10, 1)
speaker, gauge = NextWord(), NextPressure()
optimizer = torch.optim.Adam([*speaker.parameters(), *gauge.parameters()], lr=0.01)
for _ in range(30):
    rows = torch.randperm(len(words))[:32]
    said = nn.functional.cross_entropy(speaker(words[rows]), words[rows][:, -1])
    read = nn.functional.mse_loss(gauge(values[rows]), values[rows][:, -1:])
    optimizer.zero_grad()
    (said + read).backward()
    optimizer.step()
