"""Logistic regression with an accuracy that is shown after each epoch."""

import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(120, 6)
y = (X[:, 0] + X[:, 1] > 0).float()
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def evaluate():
    model.eval()
    with torch.no_grad():
        guess = torch.round(torch.sigmoid(model(X)))
        correct = (guess == y).sum()  # expect: AD616
    model.train()
    return correct.item() / len(y)


for epoch in range(15):
    loss = nn.functional.binary_cross_entropy_with_logits(model(X).squeeze(1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, evaluate())
