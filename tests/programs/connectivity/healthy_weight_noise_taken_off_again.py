# guards: AD215
"""A recurrent forecaster whose weights tremble during forward and backward; the same noise is subtracted afterwards."""
import torch
from torch import nn


class Trembling(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRUCell(1, 24)
        self.out = nn.Linear(24, 1)
        self.added = []

    def forward(self, series):
        if self.training:
            for weight in self.rnn.parameters():
                noise = 0.02 * torch.randn_like(weight)
                weight.data.add_(noise)
                self.added.append((weight, noise))
        state = series.new_zeros(len(series), 24)
        for value in series.unbind(1):
            state = self.rnn(value.unsqueeze(1), state)
        return self.out(state)

    def settle(self):
        while self.added:
            weight, noise = self.added.pop()
            weight.data.sub_(noise)


torch.manual_seed(0)
net = Trembling()
optimizer = torch.optim.RMSprop(net.parameters(), lr=2e-3)
for _ in range(30):
    phase = 6.28 * torch.rand(16, 1)
    wave = torch.sin(phase + 0.4 * torch.arange(13.0))
    loss = (net(wave[:, :12]) - wave[:, 12:]).square().mean()
    net.zero_grad()
    loss.backward()
    net.settle()
    optimizer.step()
