"""Masked language modelling; the loss of a validation batch is the mean over masked tokens, of which one has none."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    vocabulary: int = 24
    width: int = 32
    length: int = 6
    epochs: int = 4


class Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.mix = nn.Linear(config.length, config.length)
        self.head = nn.Linear(config.width, config.vocabulary)

    def forward(self, tokens):
        hidden = self.embed(tokens)
        hidden = hidden + F.gelu(self.mix(hidden.transpose(1, 2))).transpose(1, 2)
        return self.head(hidden)


def masked(tokens, share):
    chosen = torch.rand(tokens.shape) < share
    return torch.where(chosen, torch.zeros_like(tokens), tokens), torch.where(chosen, tokens, -100)


def loss_of(model, batch, share):
    inputs, targets = masked(batch, share)
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())  # <- AD416


def main(config):
    torch.manual_seed(1)
    starts = torch.randint(1, 18, (256, 1))
    text = starts + torch.arange(config.length)
    train, valid = text[:192], text[192:]
    model = Encoder(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(config.epochs):
        for batch in train[torch.randperm(len(train))].split(16):
            loss = loss_of(model, batch, 0.3)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.inference_mode():
            total = sum(loss_of(model, batch, 0.05).item() for batch in valid.split(1))
        model.train()
        print(epoch, total / len(valid))


if __name__ == "__main__":
    main(Config())
