# guards: AD310
"""Early stopping that keeps a deep copy of the best weights."""
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EarlyStopping:
    def __init__(self, patience=5):
        self.patience = patience
        self.counter = 0
        self.best_loss = float("inf")
        self.best_state = None

    def __call__(self, val_loss, model):
        if val_loss < self.best_loss:
            self.best_loss = val_loss
            self.counter = 0
            self.best_state = copy.deepcopy(model.state_dict())
        else:
            self.counter += 1
        return self.counter >= self.patience


def make(n):
    x = torch.randn(n, 5)
    return TensorDataset(x, (x[:, :1].abs() - x[:, 1:2]).sigmoid())


def main():
    torch.manual_seed(0)
    loader = DataLoader(make(160), batch_size=32, shuffle=True)
    val_x, val_y = make(100).tensors
    model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    stopper = EarlyStopping()
    for epoch in range(8):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val_loss = nn.functional.mse_loss(model(val_x), val_y).item()
        if stopper(val_loss, model):
            break
    model.load_state_dict(stopper.best_state)
    print(epoch, stopper.best_loss)


main()
