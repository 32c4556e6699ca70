"""A small convolutional GAN learns to paint soft blobs. Healthy: two optimizers that take turns, detached fakes."""

import torch
from torch import nn

SIZE = 8
NOISE = 16


def real_blobs(count: int) -> torch.Tensor:
    """Images with one bright spot at a random place, in [-1, 1]."""
    grid = torch.arange(SIZE, dtype=torch.float32)
    row, column = torch.rand(2, count, 1, 1) * (SIZE - 1)
    distance = (grid.view(1, -1, 1) - row) ** 2 + (grid.view(1, 1, -1) - column) ** 2
    return (2 * torch.exp(-distance / 4) - 1).unsqueeze(1)


def build_generator() -> nn.Module:
    return nn.Sequential(
        nn.ConvTranspose2d(NOISE, 32, 4, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.ConvTranspose2d(32, 1, 4, stride=2, padding=1),
        nn.Tanh(),
    )


def build_discriminator() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 4, stride=2, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(16, 1, 4), nn.Flatten(start_dim=0)
    )


def main(steps: int = 120, batch: int = 32) -> None:
    torch.manual_seed(0)
    generator, discriminator = build_generator(), build_discriminator()
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    is_real, is_fake = torch.ones(batch), torch.zeros(batch)

    for step in range(steps):
        fakes = generator(torch.randn(batch, NOISE, 1, 1))

        # The discriminator learns from fakes that are cut off from the generator …
        optimizer_d.zero_grad()
        loss_d = criterion(discriminator(real_blobs(batch)), is_real) + criterion(discriminator(fakes.detach()), is_fake)
        loss_d.backward()
        optimizer_d.step()

        # … and the generator from those that are not. What this leaves on the discriminator is cleared above.
        optimizer_g.zero_grad()
        loss_g = criterion(discriminator(fakes), is_real)
        loss_g.backward()
        optimizer_g.step()

        if step % 30 == 29:
            print(f"step {step + 1}: discriminator {loss_d.item():.3f}, generator {loss_g.item():.3f}")


if __name__ == "__main__":
    main()
