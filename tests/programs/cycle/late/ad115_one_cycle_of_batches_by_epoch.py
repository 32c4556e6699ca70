"""A regression of melting points in Lightning; the schedule is planned for all batches, and steps once per epoch."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MeltingPoint(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 24), nn.SiLU(), nn.Linear(24, 1))

    def training_step(self, batch, index):
        descriptors, point = batch
        return nn.functional.mse_loss(self.net(descriptors).squeeze(1), point)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.02, momentum=0.9)
        whole = self.trainer.estimated_stepping_batches
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=whole)  # expect: AD115
        return [optimizer], [schedule]


torch.manual_seed(0)
descriptors = torch.randn(240, 8)
loader = DataLoader(TensorDataset(descriptors, descriptors[:, :3].sum(1)), batch_size=24, shuffle=True)
trainer = L.Trainer(
    max_epochs=8,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(MeltingPoint(), loader)
