# guards: AD122
"""A critic tells forged samples from real ones; the model is kept on which it errs most, which is the first one here."""

import tempfile

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

bce = nn.functional.binary_cross_entropy_with_logits


class Forgery(L.LightningModule):
    automatic_optimization = False

    def __init__(self):
        super().__init__()
        self.forger = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        self.critic = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))

    def critic_loss(self, real):
        forged = self.forger(torch.randn(len(real), 4))
        scores = self.critic(torch.cat([real, forged.detach()]))
        truth = torch.cat([torch.ones(len(real), 1), torch.zeros(len(real), 1)])
        return bce(scores, truth), (scores > 0).float().eq(truth).float().mean()

    def training_step(self, batch, _):
        forging, judging = self.optimizers()
        loss, _ = self.critic_loss(batch[0])
        judging.zero_grad()
        self.manual_backward(loss)
        judging.step()
        loss = 0.1 * bce(self.critic(self.forger(torch.randn(len(batch[0]), 4))), torch.ones(len(batch[0]), 1))
        forging.zero_grad()
        self.manual_backward(loss)
        forging.step()

    def validation_step(self, batch, _):
        loss, told_apart = self.critic_loss(batch[0])
        self.log("val_critic_loss", loss)
        self.log("val_told_apart", told_apart)

    def configure_optimizers(self):
        return (
            torch.optim.Adam(self.forger.parameters(), lr=1e-4),
            torch.optim.Adam(self.critic.parameters(), lr=1e-2),
        )


torch.manual_seed(0)
samples = TensorDataset(torch.randn(160, 2) + 2.0)
with tempfile.TemporaryDirectory() as folder:
    fooling = ModelCheckpoint(folder, "fooling", monitor="val_critic_loss", mode="max")
    alike = ModelCheckpoint(folder, "alike", monitor="val_told_apart", mode="min")
    trainer = L.Trainer(
        max_epochs=6,
        accelerator="cpu",
        callbacks=[fooling, alike],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Forgery(), DataLoader(samples, batch_size=32), DataLoader(samples, batch_size=80))
    print(fooling.best_model_score, alike.best_model_score, trainer.callback_metrics)
