# guards: AD122
"""A good model is tuned on labels of which a third is wrong: loss and mistakes of validation rise from the first epoch
on, and the first checkpoint is rightly kept, and training stopped."""

import tempfile

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
clean, x, held_out = torch.randn(1280, 20), torch.randn(128, 20), torch.randn(400, 20)
labels = (x[:, 0] > 0).long()
labels = torch.where(torch.rand(128) < 0.35, 1 - labels, labels)


class Screening(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Linear(256, 2))

    def training_step(self, batch, _):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, _):
        scores = self.net(batch[0])
        self.log("val_loss", nn.functional.cross_entropy(scores, batch[1]))
        self.log("val_perplexity", nn.functional.cross_entropy(scores, batch[1]).exp())
        self.log("val_mistakes", (scores.argmax(1) != batch[1]).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=6e-3)


model = Screening()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for rows in clean.split(128):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model.net(rows), (rows[:, 0] > 0).long()).backward()
    optimizer.step()

with tempfile.TemporaryDirectory() as folder:
    callbacks = [ModelCheckpoint(folder, name, monitor=name) for name in ("val_loss", "val_perplexity", "val_mistakes")]
    trainer = L.Trainer(
        max_epochs=7,
        accelerator="cpu",
        callbacks=[*callbacks, EarlyStopping("val_mistakes", patience=5)],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(
        model,
        DataLoader(TensorDataset(x, labels), batch_size=32, shuffle=True),
        DataLoader(TensorDataset(held_out, (held_out[:, 0] > 0).long()), batch_size=100),
    )
    print([(each.best_model_score, trainer.callback_metrics[each.monitor]) for each in callbacks])
