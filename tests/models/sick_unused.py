import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(9, 16)
        self.forgotten = nn.Linear(16, 16)  # expect: AD203
        self.last = nn.Linear(16, 4)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))
