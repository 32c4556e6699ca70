"""A classifier with dropout and batch-norm. Sick: the first evaluation switches to eval mode, and nobody switches back."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model: nn.Module, train_loader: DataLoader, test_loader: DataLoader) -> None:
        self.model = model
        self.train_loader = train_loader
        self.test_loader = test_loader
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        self.criterion = nn.CrossEntropyLoss()

    def run(self, epochs: int) -> None:
        self.model.train()
        for epoch in range(epochs):
            loss = self.train_one_epoch()
            print(f"epoch {epoch}: loss {loss:.3f}, accuracy {self.evaluate():.2f}")

    def train_one_epoch(self) -> float:
        total = 0.0
        for features, label in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(features), label)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def evaluate(self) -> float:
        self.model.eval()  # expect: AD210
        right = sum((self.model(features).argmax(1) == label).sum().item() for features, label in self.test_loader)
        return right / len(self.test_loader.dataset)


def clusters(count: int, centres: torch.Tensor) -> TensorDataset:
    label = torch.randint(len(centres), (count,))
    return TensorDataset(centres[label] + torch.randn(count, centres.shape[1]), label)


def main() -> None:
    torch.manual_seed(0)
    centres = torch.randn(5, 20)
    model = nn.Sequential(
        nn.Linear(20, 64, bias=False), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 5)
    )
    train_loader = DataLoader(clusters(480, centres), batch_size=32, shuffle=True, drop_last=True)
    test_loader = DataLoader(clusters(120, centres), batch_size=60)
    Trainer(model, train_loader, test_loader).run(epochs=5)


if __name__ == "__main__":
    main()
