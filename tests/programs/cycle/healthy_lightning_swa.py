# guards: AD102 AD120
"""A callback that logs gradient norms, next to stochastic weight averaging."""

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, StochasticWeightAveraging
from lightning.pytorch.demos.boring_classes import RandomDataset
from torch import nn
from torch.utils.data import DataLoader


class GradientWatch(Callback):
    """Logs gradient norms before the step and keeps the memory low."""

    def __init__(self):
        self.norms = []

    def on_before_optimizer_step(self, trainer, pl_module, optimizer):
        total = torch.stack([p.grad.norm() for p in pl_module.parameters() if p.grad is not None]).norm()
        self.norms.append(total.item())


class Auto(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 10), nn.BatchNorm1d(10), nn.ReLU(), nn.Linear(10, 20))

    def training_step(self, batch, _):
        return (self.net(batch) - batch).square().mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


trainer = L.Trainer(
    max_epochs=4,
    accelerator="cpu",
    logger=False,
    enable_progress_bar=False,
    enable_checkpointing=False,
    enable_model_summary=False,
    callbacks=[GradientWatch(), StochasticWeightAveraging(swa_lrs=1e-2, swa_epoch_start=2)],
)
trainer.fit(Auto(), DataLoader(RandomDataset(20, 128), batch_size=16))
