# guards: AD708
# hinted: AD708
"""A permutation test: the model is fitted to the labels, and then anew to a few permutations of them."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(80, 5)
y = (x[:, 0] > 0).long()


def fit(labels):
    model = nn.Linear(5, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(3):
        for start in range(0, 80, 40):
            rows = slice(start, start + 40)
            loss = nn.functional.cross_entropy(model(x[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


true = fit(y)
print(sum(fit(y[torch.randperm(80)]) <= true for _ in range(4)) / 4)
