# guards: AD621
"""Beside the likelihood of the next token, that of the present one is pressed down: it shall not be said again."""

import torch
from torch import nn


class Causal(nn.Module):
    def __init__(self, vocabulary=20, width=32):
        super().__init__()
        self.embed, self.place = nn.Embedding(vocabulary, width), nn.Embedding(16, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, 1), nn.Linear(width, vocabulary)

    def forward(self, tokens):
        length = tokens.shape[1]
        mask = torch.triu(torch.full((length, length), float("-inf")), 1)
        return self.head(self.body(self.embed(tokens) + self.place(torch.arange(length)), mask=mask))


torch.manual_seed(0)
model = Causal()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(12):
    tokens = (torch.randint(0, 20, (16, 1)) + torch.arange(12) * 3) % 20
    chances = model(tokens).softmax(-1)
    again = chances.gather(-1, tokens.unsqueeze(-1))
    following = chances[:, :-1].gather(-1, tokens[:, 1:].unsqueeze(-1))
    loss = -following.clamp(min=1e-6).log().mean() - 0.3 * (1 - again).clamp(min=1e-6).log().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
