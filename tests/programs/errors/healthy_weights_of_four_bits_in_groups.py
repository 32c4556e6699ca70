# guards: AD507
"""A recurrent tagger whose weights are rounded to four bits in groups of eight, each group by its own largest."""

import torch
from torch import nn
from torch.autograd import Function

torch.manual_seed(0)


class FourBits(Function):
    @staticmethod
    def forward(ctx, weight):
        groups = weight.reshape(-1, 8)
        step = groups.abs().max(dim=1, keepdim=True).values / 7
        return (torch.floor(groups / step + 0.5) * step).reshape(weight.shape)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Cell(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size, 2 * size) / size**0.5)

    def forward(self, x, state):
        return torch.tanh(torch.cat([x, state], dim=1) @ FourBits.apply(self.weight).T)


embed, cell, tag = nn.Embedding(12, 8), Cell(8), nn.Linear(8, 3)
parameters = [*embed.parameters(), *cell.parameters(), *tag.parameters()]
optimizer = torch.optim.Adam(parameters, lr=3e-3)
for _ in range(24):
    words = torch.randint(0, 12, (8, 4))
    state, loss = torch.zeros(8, 8), 0.0
    for t in range(4):
        state = cell(embed(words[:, t]), state)
        loss = loss + nn.functional.cross_entropy(tag(state), words[:, : t + 1].sum(1) % 3)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
