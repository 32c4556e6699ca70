"""A forecast of tides: early stopping waits for the error of validation to rise, and ends training after four epochs."""

import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from pytorch_lightning.callbacks import EarlyStopping
from torch.utils.data import DataLoader, TensorDataset


def tides(count):
    phase = 6.28 * torch.rand(count, 1)
    level = torch.sin(phase + torch.linspace(0, 9, 25)) + 0.3 * torch.sin(2.1 * phase + torch.linspace(0, 18, 25))
    return TensorDataset(level[:, :24], level[:, 24:])


class Forecast(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(24, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))

    def step(self, batch, name):
        past, following = batch
        error = F.mse_loss(self.layers(past), following)
        self.log(name, error, on_epoch=True)
        return error

    def training_step(self, batch, index):
        return self.step(batch, "error")

    def validation_step(self, batch, index):
        self.step(batch, "val_error")

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.02)


def callbacks():
    return [EarlyStopping("val_error", patience=3, mode="max")]  # expect: AD122


torch.manual_seed(0)
trainer = pl.Trainer(
    max_epochs=50,
    accelerator="cpu",
    callbacks=callbacks(),
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Forecast(), DataLoader(tides(128), batch_size=32, shuffle=True), DataLoader(tides(70), batch_size=32))
print(trainer.current_epoch)
