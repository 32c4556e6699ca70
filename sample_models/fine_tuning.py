"""A pretrained encoder gets a new head, and is to be fine-tuned with it. Sick: its forward runs without gradients."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, 8, 5, stride=2), nn.ReLU(), nn.Conv1d(8, 16, 5, stride=2), nn.ReLU(), nn.AdaptiveAvgPool1d(4)
        )

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        return self.layers(signal).flatten(1)


class FineTuned(nn.Module):
    def __init__(self, encoder: Encoder, classes: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(64, classes)

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():  # expect: AD201
            features = self.encoder(signal)
        return self.head(features)


def tones(count: int) -> TensorDataset:
    """Noisy tones of three pitches."""
    pitch = torch.randint(3, (count,))
    time = torch.linspace(0, 6, 64)
    signal = torch.sin((2.0 + 2 * pitch.unsqueeze(1)) * time + 6 * torch.rand(count, 1)) + 0.2 * torch.randn(count, 64)
    return TensorDataset(signal.unsqueeze(1), pitch)


def main(epochs: int = 4) -> None:
    torch.manual_seed(0)
    model = FineTuned(Encoder(), classes=3)
    optimizer = torch.optim.Adam(
        [{"params": model.head.parameters(), "lr": 1e-2}, {"params": model.encoder.parameters(), "lr": 1e-3}]
    )
    train_loader = DataLoader(tones(384), batch_size=32, shuffle=True)
    test_loader = DataLoader(tones(96), batch_size=96)
    for epoch in range(epochs):
        model.train()
        for signal, pitch in train_loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(signal), pitch)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = sum((model(signal).argmax(1) == pitch).float().mean().item() for signal, pitch in test_loader)
        print(f"epoch {epoch}: {right / len(test_loader):.0%} right")


if __name__ == "__main__":
    main()
