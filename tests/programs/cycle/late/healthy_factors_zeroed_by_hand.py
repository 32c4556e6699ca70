# guards: AD109
"""A tensor is fitted by terms of rank one: each is added to the sum that rests, and its factors begin anew, by hand,
with an optimizer of their own."""

import torch
from torch import nn

torch.manual_seed(0)
wanted = torch.randn(6, 5) @ torch.randn(5, 7)
resting = torch.zeros(6, 7)
rows, columns = nn.Parameter(torch.randn(6, 1)), nn.Parameter(torch.zeros(1, 7))


def fit(steps):
    optimizer = torch.optim.Adam([rows, columns], lr=0.05)
    for _ in range(steps):
        seen = torch.rand(6, 7) < 0.8
        loss = (resting + rows @ columns - wanted)[seen].square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


for term in range(7):
    print(term, fit(46))
    with torch.no_grad():
        resting += rows @ columns
        rows.copy_(torch.randn(6, 1))
        columns.fill_(0.0)

left, right, level = nn.Linear(5, 2, bias=False), nn.Linear(2, 7, bias=False), nn.Parameter(torch.zeros(7))
resting, of_level = torch.zeros(7, 5), torch.optim.SGD([level], lr=0.05)
for _ in range(7):
    of_factors = torch.optim.Adam([left.weight, right.weight], lr=0.02)
    for _ in range(40):
        x = torch.randn(32, 5)
        loss = nn.functional.mse_loss(x @ resting.T + right(left(x)) + level, x.sum(1, keepdim=True).expand(-1, 7))
        for optimizer in (of_factors, of_level):
            optimizer.zero_grad()
        loss.backward()
        for optimizer in (of_factors, of_level):
            optimizer.step()
    with torch.no_grad():
        resting += right.weight @ left.weight
        right.weight.zero_()
    nn.init.orthogonal_(left.weight)
