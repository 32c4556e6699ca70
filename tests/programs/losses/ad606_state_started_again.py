"""A cell that is rolled out over a sequence by hand."""

import torch
from torch import nn


class Rolled(nn.Module):
    def __init__(self, features=3, width=12):
        super().__init__()
        self.width = width
        self.cell = nn.GRUCell(features, width)
        self.read = nn.Linear(width, 1)

    def forward(self, sequence):
        state = sequence.new_zeros(len(sequence), self.width)
        for moment in sequence.unbind(1):
            self.cell(moment, state)
        return self.read(torch.tanh(state)).squeeze(1)


torch.manual_seed(2)
model = Rolled()
optimizer = torch.optim.Adam(model.read.parameters(), lr=5e-3)
losses = []
for step in range(30):
    sequence = torch.randn(18, 5, 3)
    wanted = sequence.sum((1, 2)).tanh()
    loss = (model(sequence) - wanted).square().mean()  # expect: AD606
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(sum(losses) / len(losses))
