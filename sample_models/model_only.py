"""A model without a training program: `doctor check model_only.py --config …` runs the loop itself."""

import torch
from torch import nn


class Classifier(nn.Module):
    """Four classes from sixteen features, with a residual block in the middle."""

    def __init__(self, width: int = 32, dropout: float = 0.1) -> None:
        super().__init__()
        self.entry = nn.Linear(16, width)
        self.block = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Dropout(dropout), nn.Linear(width, width)
        )
        self.head = nn.Linear(width, 4)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.entry(features))
        return self.head(hidden + self.block(hidden))
