# guards: AD410 AD613
"""Attention over memory slots, for a grid of how many there are: over a single slot the attention is constant."""

import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self, slots, dim=10):
        super().__init__()
        self.keys, self.values = nn.Parameter(torch.randn(slots, dim)), nn.Parameter(torch.randn(slots, dim))
        self.query, self.out = nn.Linear(dim, dim), nn.Linear(dim, 1)

    def forward(self, x):
        attention = (self.query(x) @ self.keys.t() / 3).softmax(dim=1)
        return self.out(attention @ self.values + x).squeeze(1)


results = []
for slots in [1, 3, 6]:
    torch.manual_seed(slots)
    memory = Memory(slots)
    trainer = torch.optim.RMSprop(memory.parameters(), lr=2e-3)
    for it in range(8):
        given = torch.randn(40, 10)
        wanted = given[:, 0].sin()
        loss = nn.functional.smooth_l1_loss(memory(given), wanted)
        trainer.zero_grad()
        loss.backward()
        trainer.step()
    results.append((slots, loss.item()))
print(results)
