"""Training whose step hangs on a flag that an early phase turns off and nobody turns on again."""

import torch
from torch import nn

torch.manual_seed(0)


class State:
    training = True
    best = float("inf")
    patience = 0


def fit(model, x, y, epochs):
    state, optimizer = State(), torch.optim.Adam(model.parameters(), lr=2e-2)
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(x)).split(25):
            optimizer.zero_grad()
            loss = nn.functional.l1_loss(model(x[rows]), y[rows])
            loss.backward()  # expect: AD104
            if state.training:
                optimizer.step()
            total += loss.item()
        if total < 0.9 * state.best:
            state.best, state.patience = total, 0
        else:
            state.patience += 1
        state.training = state.training and state.patience < 2
    return total


x = torch.randn(200, 4)
print(fit(nn.Sequential(nn.Linear(4, 20), nn.ReLU(), nn.Linear(20, 1)), x, x.prod(1, keepdim=True), epochs=15))
