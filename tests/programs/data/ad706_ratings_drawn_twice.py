"""A matrix of ratings is factorised; which entries are for testing is decided by a second lot."""

import torch
from torch import nn

torch.manual_seed(1)
USERS, FILMS = 60, 50
ratings = torch.randn(USERS, 3) @ torch.randn(3, FILMS) + 0.3 * torch.randn(USERS, FILMS)
known = torch.rand(USERS, FILMS) < 0.7
asked = torch.rand(USERS, FILMS) < 0.3  # expect: AD706


class Factors(nn.Module):
    def __init__(self, rank):
        super().__init__()
        self.users = nn.Parameter(0.1 * torch.randn(USERS, rank))
        self.films = nn.Parameter(0.1 * torch.randn(FILMS, rank))
        self.bias = nn.Parameter(torch.zeros(FILMS))

    def forward(self):
        return self.users @ self.films.T + self.bias


factors = Factors(5)
optimizer = torch.optim.Adam(factors.parameters(), lr=0.03)
for sweep in range(25):
    error = ((factors() - ratings)[known] ** 2).mean()
    optimizer.zero_grad()
    error.backward()
    optimizer.step()
with torch.inference_mode():
    rmse = ((factors() - ratings)[asked] ** 2).mean().sqrt()
print(f"held out: {rmse:.3f}, trained on: {error.sqrt():.3f}")
