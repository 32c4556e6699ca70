"""A Siamese network puts equal shapes close together. Sick: the square root has no finite slope at a distance of zero."""

import torch
from torch import nn


class Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        difference = self.embed(first) - self.embed(second)
        return torch.sqrt(difference.pow(2).sum(dim=1))  # expect: AD402


def contrastive_loss(distance: torch.Tensor, same: torch.Tensor, margin: float = 1.0) -> torch.Tensor:
    apart = torch.relu(margin - distance)
    return torch.where(same, distance**2, apart**2).mean()


def make_pairs(count: int, shapes: torch.Tensor, step: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Two noisy views of shapes; from the fifth batch on, the first pair is one and the same picture twice."""
    left, right = torch.randint(len(shapes), (2, count))
    right[::2] = left[::2]
    first, second = (shapes[which] + 0.1 * torch.randn(count, shapes.shape[1]) for which in (left, right))
    if step >= 5:
        second[0] = first[0]
    return first, second, left == right


def main(steps: int = 40) -> None:
    torch.manual_seed(0)
    shapes = torch.randn(6, 16)
    model = Siamese()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(steps):
        first, second, same = make_pairs(32, shapes, step)
        loss = contrastive_loss(model(first, second), same)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            print(f"step {step}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
