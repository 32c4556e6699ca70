"""A field of densities and colours is fitted to what a camera sees. Sick: a threshold shuts every density to zero."""

import torch
from torch import nn


class Field(nn.Module):
    """Density and colour at a place. The place is encoded by waves, as in NeRF."""

    def __init__(self, width: int = 32, waves: int = 4) -> None:
        super().__init__()
        self.register_buffer("frequencies", 2.0 ** torch.arange(waves))
        self.body = nn.Sequential(nn.Linear(2 * waves, width), nn.ReLU())
        self.density = nn.Linear(width, 1)
        self.colour = nn.Linear(width, 3)

    def forward(self, place: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        waves = place.unsqueeze(-1) * self.frequencies
        hidden = self.body(torch.cat([waves.sin(), waves.cos()], dim=-1))
        density = torch.relu(self.density(hidden).squeeze(-1) - 6.0)  # expect: AD410
        return density, torch.sigmoid(self.colour(hidden))


def render(field: Field, rays: torch.Tensor, samples: int = 12) -> torch.Tensor:
    """The colour of each ray: what its samples add up to, behind what lies in front of them, before a bright sky."""
    depth = torch.linspace(0, 1, samples)
    density, colour = field(rays.unsqueeze(1) + depth)
    opacity = 1 - torch.exp(-density / samples)
    clear = torch.cumprod(1 - opacity + 1e-6, dim=1)
    haze = colour.mean(dim=1)
    return ((opacity * clear).unsqueeze(-1) * colour).sum(dim=1) + clear[:, -1:] * 0.5 * haze


def picture(rays: torch.Tensor) -> torch.Tensor:
    return torch.stack([(3 * rays).sin(), (5 * rays).cos(), rays], dim=-1).clamp(0, 1)


def main(steps: int = 60) -> None:
    torch.manual_seed(0)
    field = Field()
    optimizer = torch.optim.Adam(field.parameters(), lr=0.01)
    for step in range(steps):
        rays = torch.rand(64)
        loss = nn.functional.mse_loss(render(field, rays), picture(rays))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step + 1}: error {loss.item():.4f}")


if __name__ == "__main__":
    main()
