from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Output:
    hidden: torch.Tensor
    prediction: torch.Tensor


class Regressor(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(7, 16)
        self.outer = nn.Linear(16, 1)

    def forward(self, features: torch.Tensor) -> Output:
        hidden = torch.tanh(self.inner(features))
        return Output(hidden, self.outer(hidden))
