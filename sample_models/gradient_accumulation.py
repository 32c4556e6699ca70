"""Gradients of two micro-batches make one step. Sick: the sum kept for the log chains the graphs of all batches."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

MICRO_BATCHES = 2


def two_moons(count: int) -> TensorDataset:
    """Two half circles that reach into each other."""
    label = torch.randint(2, (count,))
    angle = 3.14159 * torch.rand(count)
    x = torch.where(label == 1, 1 - angle.cos(), angle.cos())
    y = torch.where(label == 1, 0.5 - angle.sin(), angle.sin())
    return TensorDataset(torch.stack([x, y], dim=1) + 0.1 * torch.randn(count, 2), label.float())


def main(epochs: int = 4) -> None:
    torch.manual_seed(0)
    loader = DataLoader(two_moons(640), batch_size=8, shuffle=True)
    model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    criterion = nn.BCEWithLogitsLoss()
    total, batches = 0.0, 0
    for epoch in range(epochs):
        for number, (points, label) in enumerate(loader, start=1):
            loss = criterion(model(points), label)
            (loss / MICRO_BATCHES).backward()
            if number % MICRO_BATCHES == 0:
                optimizer.step()
                optimizer.zero_grad()
            total += loss  # expect: AD302
            batches += 1
        print(f"epoch {epoch}: mean loss so far {total.item() / batches:.4f}")


if __name__ == "__main__":
    main()
