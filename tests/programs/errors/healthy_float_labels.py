# guards: AD511
"""Binary labels come as floats, as a binary cross entropy wants them."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def table(n):
    """Columns as a CSV file would give them: four features and a label."""
    rows = torch.randn(n, 5)
    rows[:, 4] = (rows[:, 0] + rows[:, 1] > 0).float()
    return rows


def main():
    torch.manual_seed(0)
    rows = table(256)
    loader = DataLoader(TensorDataset(rows[:, :4], rows[:, 4]), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1), nn.Flatten(0))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(3):
        for features, label in loader:
            loss = criterion(model(features), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


main()
