"""Lightning starts the other rank itself, by the command that started the first."""

import warnings

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")


class Line(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def training_step(self, batch: list[torch.Tensor], number: int) -> torch.Tensor:
        (x,) = batch
        return (self.layer(x) - x.sum(1, keepdim=True)).pow(2).mean()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01)


if __name__ == "__main__":
    data = DataLoader(TensorDataset(torch.randn(4096, 4)), batch_size=8, shuffle=True)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=3, **quiet)
    trainer.fit(Line(), data)
