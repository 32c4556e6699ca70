"""A network predicts a mixture of bell curves. Sick: far from every curve the likelihood is 0, and its logarithm is not
finite."""

import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MixtureDensity(nn.Module):
    def __init__(self, curves: int = 3) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 32), nn.Tanh())
        self.weight = nn.Linear(32, curves)
        self.mean = nn.Linear(32, curves)
        self.log_deviation = nn.Linear(32, curves)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        hidden = self.body(x)
        return self.weight(hidden).softmax(-1), self.mean(hidden), self.log_deviation(hidden).exp()


def negative_log_likelihood(weight, mean, deviation, y: torch.Tensor) -> torch.Tensor:
    density = torch.exp(-0.5 * ((y - mean) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))
    likelihood = (weight * density).sum(dim=1)
    return -torch.log(likelihood).mean()  # expect: AD401


def snake(count: int) -> TensorDataset:
    """A wavy line lying on its side: several answers for one question, and a few far outliers."""
    y = 2 * torch.rand(count, 1) - 1
    x = y + 0.3 * torch.sin(2 * math.pi * y) + 0.05 * torch.randn(count, 1)
    y[torch.rand(count) < 0.02] = 60.0
    return TensorDataset(x, y)


def main(epochs: int = 3) -> None:
    torch.manual_seed(0)
    loader = DataLoader(snake(640), batch_size=32, shuffle=True)
    model = MixtureDensity()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = negative_log_likelihood(*model(x), y)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
