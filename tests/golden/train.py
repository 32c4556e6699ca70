"""A small training program, quoted in the golden reports."""

import torch
from torch import nn


def main() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for epoch in range(3):
        for inputs, targets in loader():
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
            losses.append(loss)
        evaluate(
            model,
            loader(),
            epoch=epoch,
        )


def evaluate(model: nn.Module, batches, *, epoch: int) -> None:
    model.eval()
    total = sum(float(nn.functional.mse_loss(model(inputs), targets)) for inputs, targets in batches)
    print(f"epoch {epoch}: {total:.3f}")


def loader():
    return [(torch.randn(4, 8), torch.randn(4, 1)) for _ in range(10)]


if __name__ == "__main__":
    main()
