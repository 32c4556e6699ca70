import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 512):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.pe[: x.size(1)]


class TransformerClassifier(nn.Module):
    def __init__(self, ntoken: int = 200, d_model: int = 32, nhead: int = 4, nlayers: int = 2, num_class: int = 3):
        super().__init__()
        self.pos = PositionalEncoding(d_model)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(d_model, nhead, 64, batch_first=True), nlayers, enable_nested_tensor=False
        )
        self.embedding = nn.Embedding(ntoken, d_model)
        self.decoder = nn.Linear(d_model, num_class)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.decoder(self.encoder(self.pos(self.embedding(tokens))).mean(1))
