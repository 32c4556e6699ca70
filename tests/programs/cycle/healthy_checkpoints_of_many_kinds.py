# guards: AD122
"""The model of most hits is kept, the newest, all, and, beside the one of least loss, the one of most, to look at."""

import tempfile

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def flowers(count):
    kind = torch.randint(3, (count,))
    return TensorDataset(torch.eye(3)[kind] @ torch.ones(3, 5).triu() + 0.7 * torch.randn(count, 5), kind)


class Sorter(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3))

    def training_step(self, batch, _):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        scores = self.net(batch[0])
        self.log("val_loss", nn.functional.cross_entropy(scores, batch[1]))
        self.log("val_accuracy", (scores.argmax(1) == batch[1]).float().mean())
        self.log("learning_rate", self.optimizers().param_groups[0]["lr"])

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)]


torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    callbacks = [
        ModelCheckpoint(folder, "best", monitor="val_accuracy", mode="max"),
        ModelCheckpoint(folder, "least-{val_loss:.2f}", monitor="val_loss"),
        ModelCheckpoint(folder, "most-{val_loss:.2f}", monitor="val_loss", mode="max"),
        ModelCheckpoint(folder, "newest", monitor="step", mode="max"),
        ModelCheckpoint(folder, "first-{epoch}", monitor="epoch", mode="min"),
        ModelCheckpoint(folder, "all-{epoch}-{val_accuracy:.2f}", monitor="val_accuracy", save_top_k=-1),
        ModelCheckpoint(folder, "rate", monitor="learning_rate", mode="max"),
        ModelCheckpoint(folder, "last"),
        EarlyStopping("loss", mode="max", stopping_threshold=50.0, patience=1000),
        EarlyStopping("val_loss", patience=3),
    ]
    trainer = L.Trainer(
        max_epochs=6,
        accelerator="cpu",
        callbacks=callbacks,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Sorter(), DataLoader(flowers(160), batch_size=32, shuffle=True), DataLoader(flowers(100), batch_size=50))
