# guards: AD125
"""Lightning accumulates three batches, and clips before the step by itself."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regressor(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 16), nn.SiLU(), nn.Linear(16, 1))

    def training_step(self, batch, _):
        x, y = batch
        return nn.functional.smooth_l1_loss(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


L.seed_everything(0)
x = torch.randn(128, 5)
data = TensorDataset(x, x.square().sum(dim=1, keepdim=True) / 5)
trainer = L.Trainer(
    max_epochs=3,
    accumulate_grad_batches=3,
    gradient_clip_val=0.05,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Regressor(), DataLoader(data, batch_size=8, shuffle=True))
