# guards: AD216
"""Ratings factorised in turn: in even steps users learn and items rest, in odd ones the other way round. Both lie
around a common centre, which learns in every step by the half that is awake."""

import torch

torch.manual_seed(0)
ratings = torch.randn(30, 4) @ torch.randn(4, 20)
known = torch.rand(30, 20) < 0.6
users = torch.nn.Parameter(0.1 * torch.randn(30, 4))
items = torch.nn.Parameter(0.1 * torch.randn(20, 4))
centre = torch.nn.Parameter(torch.zeros(4))
optimizer = torch.optim.Adam([users, items, centre], lr=0.05)


def spread(rows: torch.Tensor, learns: bool) -> torch.Tensor:
    with torch.set_grad_enabled(learns):
        return (rows - centre).square().mean()


for step in range(60):
    of_users = step % 2 == 0
    mine, theirs = (users, items.detach()) if of_users else (users.detach(), items)
    misses = (mine @ theirs.T - ratings)[known]
    loss = misses.square().mean() + 0.1 * spread(users, of_users) + 0.1 * spread(items, not of_users)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
