# guards: AD617
"""Attention within windows; as many windows in all as there are positions, and as many entries in each as sequences."""

import math

import torch
import torch.nn.functional as F
from torch import nn

SEQUENCES, LENGTH, WIDTH, WINDOW = 4, 16, 8, 4


class Windows(nn.Module):
    def __init__(self):
        super().__init__()
        places = torch.arange(LENGTH)[:, None] / 10 ** torch.linspace(0, 2, WIDTH)
        self.register_buffer("places", places.sin())
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.score, self.value, self.out = nn.Linear(WIDTH, 1), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, x):
        places = self.places.expand(len(x), -1, -1)
        both = torch.tanh(self.mix((x + places).flatten(0, 1))).view(-1, WINDOW, WIDTH)
        weights = (self.score(both) / math.sqrt(WIDTH)).softmax(1)
        return self.out((weights * self.value(both)).sum(1)).view(len(x), -1)


torch.manual_seed(0)
model = Windows()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(30):
    x = torch.randn(SEQUENCES, LENGTH, WIDTH)
    wanted = x[:, :, 0].view(SEQUENCES, -1, WINDOW).amax(2)
    loss = F.mse_loss(model(x), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
