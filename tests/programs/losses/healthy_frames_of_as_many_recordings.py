# guards: AD617
"""Twelve recordings of 120 values are cut into frames of twelve, each looked at by itself, before a GRU reads them."""

import torch
from torch import nn

torch.manual_seed(0)


class Listener(nn.Module):
    def __init__(self, frame):
        super().__init__()
        self.frame = frame
        self.look = nn.Sequential(nn.Linear(frame, 24), nn.GELU())
        self.read = nn.GRU(24, 24, batch_first=True)
        self.say = nn.Linear(24, 3)

    def forward(self, sound):
        count = len(sound)
        seen = self.look(sound.reshape(-1, self.frame))
        states, _ = self.read(seen.reshape(count, -1, 24))
        return self.say(states[:, -1])


listener = Listener(12)
optimizer = torch.optim.Adam(listener.parameters(), lr=4e-3)
time = torch.arange(120.0)
for _ in range(24):
    pitch = torch.randint(0, 3, (12,))
    sound = torch.sin((0.2 + 0.3 * pitch[:, None]) * time) + 0.1 * torch.randn(12, 120)
    loss = nn.functional.cross_entropy(listener(sound), pitch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
