"""An autoencoder of little clocks with noise on its code. Sick: the code is detached, so that the encoder never learns."""

import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class NoisyAutoencoder(nn.Module):
    """Noise on the code makes neighbouring codes look alike, as in a variational autoencoder."""

    def __init__(self, code: int = 4, deviation: float = 0.1) -> None:
        super().__init__()
        self.deviation = deviation
        self.encoder = nn.Sequential(nn.Linear(144, 64), nn.ReLU(), nn.Linear(64, code))
        self.decoder = nn.Sequential(nn.Linear(code, 64), nn.ReLU(), nn.Linear(64, 144))

    def sample(self, mean: torch.Tensor) -> torch.Tensor:
        code = mean + self.deviation * torch.randn_like(mean)
        return code.detach()  # expect: AD202

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.decoder(self.sample(self.encoder(image)))


def clocks(count: int) -> TensorDataset:
    """12×12 images of a hand that points somewhere."""
    angle = 2 * math.pi * torch.rand(count, 1, 1)
    grid = torch.linspace(-1, 1, 12)
    across, along = grid.view(1, 1, -1), grid.view(1, -1, 1)
    beside = across * angle.sin() - along * angle.cos()
    ahead = across * angle.cos() + along * angle.sin()
    return TensorDataset((torch.exp(-20 * beside**2) * torch.sigmoid(8 * ahead)).flatten(1))


def main(epochs: int = 4) -> None:
    torch.manual_seed(0)
    loader = DataLoader(clocks(640), batch_size=64, shuffle=True)
    model = NoisyAutoencoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        for (image,) in loader:
            optimizer.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(model(image), image)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
