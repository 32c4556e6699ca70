import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.pad = nn.ConstantPad1d((dilation, 0), 0.0)
        self.filter = nn.Conv1d(channels, channels, 2, dilation=dilation)
        self.gate = nn.Conv1d(channels, channels, 2, dilation=dilation)
        self.res = nn.Conv1d(channels, channels, 1)  # expect: AD203
        self.skip = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        h = self.pad(x)
        h = torch.tanh(self.filter(h)) * torch.sigmoid(self.gate(h))
        return x + self.res(h), self.skip(h)


class WaveNet(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.start = nn.Conv1d(1, channels, 1)
        self.blocks = nn.ModuleList(Residual(channels, 2**i) for i in range(4))
        self.end = nn.Sequential(nn.ReLU(), nn.Conv1d(channels, channels, 1), nn.ReLU(), nn.Conv1d(channels, 1, 1))

    def forward(self, x):
        x = self.start(x)
        total = 0
        for i, block in enumerate(self.blocks):
            x, skip = block(x) if i < 3 else (x, block(x)[1])
            total = total + skip
        return self.end(total)
