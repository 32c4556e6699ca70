"""Vibration signatures of bearings through a codebook."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass
class Settings:
    codes: int = 24
    width: int = 6
    commitment: float = 0.25
    rate: float = 2e-3
    steps: int = 40


class Codebook(nn.Module):
    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.entries = nn.Embedding(settings.codes, settings.width)
        self.entries.weight.data.uniform_(-0.4, 0.4)
        self.commitment = settings.commitment

    def forward(self, encoded: Tensor) -> tuple[Tensor, Tensor]:
        flat = encoded.reshape(-1, encoded.shape[-1])
        nearest = torch.cdist(flat, self.entries.weight).argmin(dim=1)
        quantised = self.entries(nearest).view_as(encoded)
        penalty = F.mse_loss(quantised, encoded.detach()) + self.commitment * F.mse_loss(encoded, quantised.detach())
        return encoded + (quantised - encoded), penalty  # <- AD226


def signatures(count: int, generator: torch.Generator) -> Tensor:
    t = torch.linspace(0, 6.283, 40)
    speed = 1 + torch.randint(3, (count, 1), generator=generator)
    phase = 6.283 * torch.rand(count, 1, generator=generator)
    return torch.sin(speed * t + phase) + 0.05 * torch.randn(count, 40, generator=generator)


def train(settings: Settings) -> None:
    torch.manual_seed(4)
    generator = torch.Generator().manual_seed(5)
    encoder = nn.Sequential(nn.Linear(40, 48), nn.ReLU(), nn.Linear(48, 3 * settings.width), nn.Unflatten(1, (3, settings.width)))
    decoder = nn.Sequential(nn.Flatten(), nn.Linear(3 * settings.width, 48), nn.ReLU(), nn.Linear(48, 40))
    codebook = Codebook(settings)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), *codebook.parameters()], lr=settings.rate)
    for step in range(settings.steps):
        x = signatures(64, generator)
        codes, penalty = codebook(encoder(x))
        loss = F.mse_loss(decoder(codes), x) + penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step:3d} {loss.item():.4f}")


train(Settings())
