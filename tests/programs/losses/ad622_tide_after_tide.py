"""Water level at the inner gauge from that at the outer one; records of storms last as long as the storms did."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence


class Channel(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.enter = nn.Linear(2, width)
        self.flow = nn.GRU(width, width, batch_first=True)
        self.level = nn.Sequential(nn.Tanh(), nn.Linear(width, 1))

    def forward(self, outer):
        inside, _ = self.flow(self.enter(outer))
        return self.level(inside)


def storm():
    hours = int(torch.randint(8, 30, (1,)))
    t = torch.arange(hours) / 4
    surge, wind = torch.sin(t + 6 * torch.rand(1)), torch.randn(hours).cumsum(0) * 0.1
    inner = 3 + 0.7 * surge.roll(1) + 0.2 * wind
    return torch.stack([surge, wind], dim=1), inner[:, None]


torch.manual_seed(5)
channel = Channel()
optimizer = torch.optim.Adam(channel.parameters(), lr=5e-3)
for step in range(50):
    outer, inner = map(list, zip(*[storm() for _ in range(16)]))
    predicted = channel(pad_sequence(outer, batch_first=True))
    loss = F.mse_loss(predicted, pad_sequence(inner, batch_first=True))  # <- AD622
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
