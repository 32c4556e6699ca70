"""A Lightning module removes noise from little images. Healthy: Lightning runs the loop, the clearing and the modes."""

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Denoiser(lightning.LightningModule):
    def __init__(self, noise: float = 0.3) -> None:
        super().__init__()
        self.noise = noise
        self.encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.1))
        self.decoder = nn.Linear(32, 64)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.decoder(self.encoder(image))

    def error(self, clean: torch.Tensor) -> torch.Tensor:
        noisy = clean + self.noise * torch.randn_like(clean)
        return nn.functional.mse_loss(self(noisy), clean)

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        return self.error(batch[0])

    def validation_step(self, batch: list[torch.Tensor], index: int) -> None:
        self.log("error", self.error(batch[0]), prog_bar=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.01)


def stripes(count: int) -> TensorDataset:
    """8×8 images with a bright row and a bright column."""
    images = torch.zeros(count, 8, 8)
    images[torch.arange(count), torch.randint(8, (count,))] = 1
    images[torch.arange(count), :, torch.randint(8, (count,))] += 0.2 + torch.rand(count, 1)
    return TensorDataset(images.flatten(1))


def main() -> None:
    lightning.seed_everything(0, verbose=False)
    trainer = lightning.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(
        Denoiser(),
        DataLoader(stripes(320), batch_size=32, shuffle=True),
        DataLoader(stripes(64), batch_size=64),
    )
    print(f"validation error {trainer.callback_metrics['error'].item():.3f}")


if __name__ == "__main__":
    main()
