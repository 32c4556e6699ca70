# guards: AD621 AD612
"""Slots compete for what they look at: the softmax goes over those that ask, and no position follows another."""
import torch
from torch import nn


class Slots(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 16)
        self.slots = nn.Parameter(torch.randn(6, 16))
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.out = nn.Linear(16, 3)

    def forward(self, tokens):
        seen = self.words(tokens)
        scores = self.q(self.slots) @ self.k(seen).transpose(1, 2) / 4
        shares = scores.softmax(1)
        shares = shares / shares.sum(2, keepdim=True)
        return self.out((shares @ self.v(seen)).mean(1))


torch.manual_seed(0)
bags = torch.randint(0, 20, (120, 6))
kinds = (bags % 3).mode(1).values
model = Slots()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    for low in range(0, 120, 20):
        loss = nn.functional.cross_entropy(model(bags[low : low + 20]), kinds[low : low + 20])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
