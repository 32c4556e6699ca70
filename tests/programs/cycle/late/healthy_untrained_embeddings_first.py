# guards: AD110
"""Seeds times settings, the frozen baseline first: a matrix factorisation from random factors, then with learning."""

from itertools import product

import torch

ratings = torch.randn(30, 4) @ torch.randn(4, 20)
for rate, seed in product([0.0, 0.05], range(2)):
    torch.manual_seed(seed)
    users, items = torch.randn(30, 4, requires_grad=True), torch.randn(20, 4, requires_grad=True)
    optimizer = torch.optim.Adagrad([users, items], lr=rate)
    for _ in range(20):
        chosen = torch.rand(30, 20) < 0.3
        loss = ((users @ items.T - ratings)[chosen] ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(rate, seed, loss.item())
