# guards: AD102 AD103
"""An encoder and a decoder that are trained by turns; all gradients are cleared after whichever step was taken."""

from __future__ import annotations

import torch
from torch import nn


class Autoencoder(nn.Module):
    def __init__(self, width: int, code: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, code))
        self.decoder = nn.Sequential(nn.Linear(code, 32), nn.Tanh(), nn.Linear(32, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.decoder(self.encoder(x))


def main() -> None:
    torch.manual_seed(3)
    model = Autoencoder(12, 4)
    mixing = torch.randn(4, 12)
    optimizers = {
        "decoder": torch.optim.Adam(model.decoder.parameters(), lr=5e-3),
        "encoder": torch.optim.Adam(model.encoder.parameters(), lr=5e-3),
    }
    for step in range(24):
        x = torch.randn(64, 4) @ mixing
        error = nn.functional.mse_loss(model(x), x)
        error.backward()
        optimizers["decoder" if step % 2 else "encoder"].step()
        model.zero_grad()
    print(f"{float(error):.3f}")


main()
