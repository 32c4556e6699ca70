"""An epoch function that builds its own Adam, so that every epoch starts without moments."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(7, 40), nn.ReLU())
        self.head = nn.Linear(40, 3)

    def forward(self, x):
        return self.head(self.body(x))


def train_epoch(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    means = torch.randn(3, 7)
    y = torch.randint(0, 3, (300,))
    loader = DataLoader(TensorDataset(means[y] + torch.randn(300, 7), y), batch_size=50, shuffle=True)
    model = Model()
    for epoch in range(5):
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)  # expect: AD109
        print(epoch, train_epoch(model, loader, optimizer))


if __name__ == "__main__":
    main()
