"""Tree rings are dated from their widths; every layer's gradient is kept short by a number of Python's."""
import torch
from torch import nn

torch.manual_seed(9)
SHORTEST = 0.25


class Dater(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Conv1d(1, 12, 5, padding=2)
        self.date = nn.Linear(12, 1)

    def forward(self, widths):
        return self.date(torch.tanh(self.look(widths[:, None])).mean(-1)).squeeze(1)


def series(count):
    age = torch.rand(count)
    rings = torch.arange(24) / 24
    return torch.exp(-age[:, None] * rings) + 0.1 * torch.rand(count, 24), 3 * age


dater = Dater()
sgd = torch.optim.SGD(dater.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
for _ in range(36):
    widths, age = series(32)
    sgd.zero_grad()
    scaler.scale((dater(widths) - age).abs().mean()).backward()
    for layer in dater.children():
        length = sum(p.grad.square().sum().item() for p in layer.parameters()) ** 0.5
        if length > SHORTEST:
            for p in layer.parameters():
                p.grad *= SHORTEST / length  # expect: AD106
    scaler.step(sgd)
    scaler.update()
