# guards: AD224 AD204
# hinted: AD640
"""Weights that are shared on purpose: a block that is applied again and again, a head for the states of all layers, one
encoder for two views of a picture, and one activation for all."""

import torch
from torch import nn


class Shared(nn.Module):
    def __init__(self, width=16, depth=3):
        super().__init__()
        self.encoders = nn.ModuleList([nn.Linear(10, width)] * 2)
        self.blocks = nn.ModuleList([nn.Linear(width, width)] * depth)
        self.heads = nn.ModuleList([nn.Linear(width, 4)] * depth)
        self.activations = nn.ModuleList([nn.PReLU()] * depth)

    def forward(self, one, other):
        first, second = (encode(view) for encode, view in zip(self.encoders, (one, other)))
        state, scores = first, []
        for block, head, activation in zip(self.blocks, self.heads, self.activations):
            state = state + activation(block(state))
            scores.append(head(state))
        return first, second, scores


torch.manual_seed(0)
model = Shared()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(20):
    picture = torch.randn(32, 10)
    first, second, scores = model(picture + 0.1 * torch.randn(32, 10), picture + 0.1 * torch.randn(32, 10))
    loss = sum(nn.functional.cross_entropy(each, picture[:, :4].argmax(1)) for each in scores) / len(scores)
    loss = loss + 0.1 * nn.functional.mse_loss(first, second)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
