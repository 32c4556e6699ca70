import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(8, 16)
        self.out = nn.Linear(16, 2)

    def forward(self, x):
        gate = torch.sigmoid(self.inp(x))
        gate += 1  # expect: AD501
        return self.out(gate)
