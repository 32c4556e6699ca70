"""A module that only Lightning holds, and that keeps its losses for a curve."""

import lightning as L
import torch
from torch import nn
from lightning.pytorch.demos.boring_classes import BoringModel, RandomDataset
from torch.utils.data import DataLoader


class HistoryModel(BoringModel):
    """Keeps the curve for a plot at the end."""

    def __init__(self):
        super().__init__()
        self.curve = []
        self.bottom = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 32))

    def forward(self, x):
        return self.layer(self.bottom(x))

    def training_step(self, batch, batch_idx):
        out = super().training_step(batch, batch_idx)
        self.curve.append(out["loss"])  # expect: AD301
        return out

    def on_train_epoch_end(self):
        mean = torch.stack(self.curve).mean()
        print("epoch mean", float(mean.detach()))


trainer = L.Trainer(
    max_epochs=1,
    accelerator="cpu",
    logger=False,
    enable_progress_bar=False,
    enable_checkpointing=False,
    enable_model_summary=False,
    limit_val_batches=2,
)
trainer.fit(HistoryModel(), DataLoader(RandomDataset(32, 64), batch_size=2), DataLoader(RandomDataset(32, 8)))
