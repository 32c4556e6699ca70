"""Matrix factorisation of ratings, a few drawn at a time."""

import torch
from torch import nn

torch.manual_seed(0)
users, items = torch.randint(0, 40, (600,)), torch.randint(0, 25, (600,))
ratings = torch.randn(600)


class Factors(nn.Module):
    def __init__(self, rank=6):
        super().__init__()
        self.user = nn.Embedding(40, rank)
        self.item = nn.Embedding(25, rank)

    def forward(self, user, item):
        return (self.user(user) * self.item(item)).sum(-1)


def sample(batch_size, upto=100):
    chosen = torch.randint(upto, (batch_size,))  # expect: AD711
    return users[chosen], items[chosen], ratings[chosen]


model = Factors()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(20):
    u, i, r = sample(32)
    loss = nn.functional.mse_loss(model(u, i), r)
    opt.zero_grad()
    loss.backward()
    opt.step()
