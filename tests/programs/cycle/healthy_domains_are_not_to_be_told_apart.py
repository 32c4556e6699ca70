# guards: AD122
"""Features that do not tell from which hospital they come: the model is kept from which a domain is found least often."""

import tempfile

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return -0.02 * gradient


def patients(count):
    hospital = torch.randint(2, (count,))
    x = torch.randn(count, 10)
    x[:, 0] += 3.0 * hospital
    return TensorDataset(x, (x[:, 1] > 0).long(), hospital)


class Adapted(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 24), nn.ReLU())
        self.diagnosis, self.domain = nn.Linear(24, 2), nn.Linear(24, 2)

    def training_step(self, batch, _):
        x, ill, hospital = batch
        features = self.body(x)
        loss = nn.functional.cross_entropy(self.diagnosis(features), ill)
        return loss + nn.functional.cross_entropy(self.domain(Reversed.apply(features)), hospital)

    def validation_step(self, batch, _):
        x, ill, hospital = batch
        features = self.body(x)
        self.log("val_right", (self.diagnosis(features).argmax(1) == ill).float().mean())
        self.log("val_domain", (self.domain(features).argmax(1) == hospital).float().mean())
        self.log("val_domain_loss", nn.functional.cross_entropy(self.domain(features), hospital))
        self.log("val_loss", nn.functional.cross_entropy(self.diagnosis(features), ill))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


torch.manual_seed(1)
with tempfile.TemporaryDirectory() as folder:
    fair = ModelCheckpoint(folder, "fair", monitor="val_domain", mode="min")
    confused = ModelCheckpoint(folder, "confused", monitor="val_domain_loss", mode="max")
    trainer = L.Trainer(
        max_epochs=6,
        accelerator="cpu",
        callbacks=[fair, confused],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Adapted(), DataLoader(patients(160), batch_size=32), DataLoader(patients(120), batch_size=60))
    print(fair.best_model_score, confused.best_model_score, trainer.callback_metrics)
