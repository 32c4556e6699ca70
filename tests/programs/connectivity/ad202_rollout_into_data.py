"""Roll a recurrent cell out and collect its states in a buffer made before the loop."""

import torch
from torch import nn


class Rollout(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.cell = nn.GRUCell(3, width)
        self.start = nn.Parameter(torch.zeros(width))
        self.readout = nn.Linear(width, 3)

    def forward(self, seq):
        batch, length, _ = seq.shape
        states = torch.zeros(batch, length, self.cell.hidden_size)
        h = self.start.expand(batch, -1)
        for t in range(length):
            h = self.cell(seq[:, t], h)
            states.data[:, t] = h  # expect: AD202
        return self.readout(states)


torch.manual_seed(0)
net = Rollout()
optim = torch.optim.RMSprop(net.parameters(), lr=1e-3)
waves = torch.sin(torch.linspace(0, 12, 40)[None, :, None] * torch.tensor([1.0, 2.0, 3.0]) + torch.rand(16, 1, 1) * 6)
for epoch in range(3):
    for chunk in waves.split(4):
        optim.zero_grad()
        err = (net(chunk[:, :-1]) - chunk[:, 1:]).pow(2).mean()
        err.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optim.step()
    print(epoch, err.item())
