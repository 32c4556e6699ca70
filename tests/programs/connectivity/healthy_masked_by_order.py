# guards: AD215
"""Genes that each depend on earlier ones: what a gene may not read is set to zero in the weights at each forward."""
import torch
from torch import nn


class Ordered(nn.Linear):
    def __init__(self, genes, width, strict):
        super().__init__(genes * (1 if strict else width), genes * width if strict else genes)
        into = torch.arange(genes).repeat_interleave(width)
        rows, columns = (into, torch.arange(genes)) if strict else (torch.arange(genes), into)
        mask = rows[:, None] > columns if strict else rows[:, None] >= columns
        self.register_buffer("mask", mask.float())

    def forward(self, x):
        self.weight.data *= self.mask
        return super().forward(x)


torch.manual_seed(0)
influence = torch.randn(8, 8).tril(-1)
model = nn.Sequential(Ordered(8, 6, strict=True), nn.ReLU(), Ordered(8, 6, strict=False))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for batch in range(40):
    genes = torch.zeros(48, 8)
    for gene in range(8):
        chance = torch.sigmoid(2 * genes @ influence[gene] - 0.5)
        genes[:, gene] = torch.bernoulli(chance)
    loss = nn.functional.binary_cross_entropy_with_logits(model(genes), genes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
