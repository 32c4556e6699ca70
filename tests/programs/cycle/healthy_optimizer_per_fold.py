# guards: AD109
"""K-fold cross validation: one optimizer per fold, by design."""

import torch
import torch.nn as nn


def make_model():
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))


def fit_batch(model, optimizer, xb, yb):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(xb).squeeze(1), yb)
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    X = torch.randn(300, 8)
    y = (X[:, 0] * X[:, 1] + X[:, 2]).tanh()
    folds = torch.arange(300) % 3
    scores = []
    for fold in range(3):
        model = make_model()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        train_idx = (folds != fold).nonzero().squeeze(1)
        val_idx = (folds == fold).nonzero().squeeze(1)
        for epoch in range(2):
            for batch in train_idx[torch.randperm(len(train_idx))].split(20):
                fit_batch(model, optimizer, X[batch], y[batch])
        with torch.no_grad():
            scores.append(nn.functional.mse_loss(model(X[val_idx]).squeeze(1), y[val_idx]).item())
        print(f"fold {fold}: {scores[-1]:.4f}")
    print(f"mean {sum(scores) / len(scores):.4f}")


if __name__ == "__main__":
    main()
