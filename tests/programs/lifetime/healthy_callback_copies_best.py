# guards: AD310
"""A callback that copies the best weights, and that only the trainer refers to."""

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class KeepBest(Callback):
    def __init__(self):
        self.best, self.score = None, float("inf")

    def on_validation_end(self, trainer, pl_module):
        score = trainer.callback_metrics["val"].item()
        if score < self.score:
            self.score = score
            self.best = {k: v.detach().clone() for k, v in pl_module.state_dict().items()}

    def on_fit_end(self, trainer, pl_module):
        pl_module.load_state_dict(self.best)


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(7, 14), nn.ELU(), nn.Linear(14, 1))

    def training_step(self, batch, _):
        x, y = batch
        return nn.functional.l1_loss(self.body(x), y)

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val", nn.functional.l1_loss(self.body(x), y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 3e-3)


L.seed_everything(3, verbose=False)
x = torch.randn(200, 7)
data = TensorDataset(x, x.norm(dim=1, keepdim=True))
trainer = L.Trainer(
    max_epochs=4,
    accelerator="cpu",
    logger=False,
    enable_progress_bar=False,
    num_sanity_val_steps=0,
    enable_checkpointing=False,
    enable_model_summary=False,
    callbacks=[KeepBest()],
)
trainer.fit(Net(), DataLoader(data, batch_size=25, shuffle=True), DataLoader(data, batch_size=100))
