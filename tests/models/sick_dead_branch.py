import torch
from torch import nn


class TwoBranches(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Linear(12, 16)
        self.right = nn.Linear(12, 16)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        left = torch.relu(self.left(x))
        right = torch.relu(-self.right(x).square() - 1.0)  # expect: AD410
        return self.head(left + right)
