"""Gestures of a wrist sensor: the checkpoint that is kept is the one that recognises the fewest of them."""

import tempfile

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def gestures(count, seed):
    generator = torch.Generator().manual_seed(seed)
    kind = torch.randint(4, (count,), generator=generator)
    time = torch.linspace(0, 6.28, 16)
    wave = torch.sin(time * (1 + kind[:, None]))
    signal = torch.stack([wave, wave.cumsum(1) / 4], dim=2)
    return TensorDataset(signal + 0.3 * torch.randn(signal.shape, generator=generator), kind)


class Recogniser(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.reader, self.out = nn.GRU(2, 24, batch_first=True), nn.Linear(24, 4)

    def forward(self, signal):
        return self.out(self.reader(signal)[1][0])

    def training_step(self, batch, _):
        signal, kind = batch
        loss = nn.functional.cross_entropy(self(signal), kind)
        self.log("train/loss", loss)
        return loss

    def validation_step(self, batch, _):
        signal, kind = batch
        found = self(signal).argmax(dim=1).eq(kind)
        self.log("val/recognised", found.float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


L.seed_everything(0)
with tempfile.TemporaryDirectory() as folder:
    best = ModelCheckpoint(folder, filename="best", monitor="val/recognised")  # expect: AD122
    trainer = L.Trainer(
        max_epochs=6,
        accelerator="cpu",
        callbacks=[best],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(
        Recogniser(),
        DataLoader(gestures(160, 1), batch_size=32, shuffle=True),
        DataLoader(gestures(90, 2), batch_size=40),
    )
    print(best.best_model_score, trainer.callback_metrics["val/recognised"])
