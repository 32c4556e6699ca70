"""The water level of the next hours, in decimetres, foretold by a recurrent net from the last ones."""
import torch
from torch import nn


class Tide(nn.Module):
    def __init__(self):
        super().__init__()
        self.reads = nn.LSTM(1, 20, batch_first=True)
        self.level = nn.LSTM(20, 1, batch_first=True)

    def forward(self, past):
        seen, _ = self.reads(past[..., None] / 10)
        told, _ = self.level(seen)  # <- AD614
        return told.squeeze(-1)


def gauge(count, hours=24):
    begin = 12.4 * torch.rand(count, 1)
    at = begin + torch.arange(hours + 1)
    level = 14 * torch.cos(at * 2 * torch.pi / 12.4) + torch.randn(count, hours + 1)
    return level[:, :-1], level[:, 1:]


torch.manual_seed(1)
model = Tide()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(30):
    past, following = gauge(24)
    loss = nn.functional.l1_loss(model(past), following)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
