"""A network predicts how far a ball flies. Sick: nothing clears the gradients, so that every step adds all the others."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def throws(count: int) -> TensorDataset:
    """Speed and angle of a throw, and the distance the ball flies, all about the size of 1."""
    speed, angle = torch.rand(count, 1) + 0.5, torch.rand(count, 1) + 0.3
    return TensorDataset(torch.cat([speed, angle], dim=1), speed**2 * torch.sin(2 * angle))


def main(epochs: int = 4) -> None:
    torch.manual_seed(0)
    train_loader = DataLoader(throws(512), batch_size=32, shuffle=True)
    test_loader = DataLoader(throws(128), batch_size=128)
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    criterion = nn.MSELoss()
    for epoch in range(epochs):
        for throw, distance in train_loader:
            loss = criterion(model(throw), distance)
            loss.backward()
            optimizer.step()  # expect: AD101
        with torch.no_grad():
            error = sum(criterion(model(throw), distance).item() for throw, distance in test_loader)
        print(f"epoch {epoch}: error {error / len(test_loader):.4f}")


if __name__ == "__main__":
    main()
