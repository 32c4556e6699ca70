import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(8, 16)
        self.layers = [nn.Linear(16, 16) for _ in range(3)]  # expect: AD207
        self.out = nn.Linear(16, 3)

    def forward(self, x):
        x = torch.relu(self.inp(x))
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.out(x)
