"""A small network learns to tell the arms of a spiral apart: the plainest healthy training program."""

import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

ARMS = 3


def spiral(points_per_arm: int = 200) -> TensorDataset:
    """Points on three arms of a noisy spiral, and the number of their arm."""
    radius = torch.linspace(0.1, 1, points_per_arm)
    points, arms = [], []
    for arm in range(ARMS):
        angle = 4 * radius + 2 * math.pi * arm / ARMS + 0.1 * torch.randn(points_per_arm)
        points.append(torch.stack([radius * angle.sin(), radius * angle.cos()], dim=1))
        arms.append(torch.full((points_per_arm,), arm))
    return TensorDataset(torch.cat(points), torch.cat(arms))


class Classifier(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, ARMS)
        )

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return self.layers(points)


def train_one_epoch(model, loader, optimizer) -> float:
    model.train()
    total = 0.0
    for points, arms in loader:
        loss = nn.functional.cross_entropy(model(points), arms)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def accuracy(model, loader) -> float:
    model.eval()
    right = sum((model(points).argmax(dim=1) == arms).sum().item() for points, arms in loader)
    return right / len(loader.dataset)


def main() -> None:
    torch.manual_seed(0)
    train_set, test_set = random_split(spiral(), [480, 120])
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=64)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(10):
        loss = train_one_epoch(model, train_loader, optimizer)
        print(f"epoch {epoch}: loss {loss:.3f}, accuracy {accuracy(model, test_loader):.2f}")


if __name__ == "__main__":
    main()
