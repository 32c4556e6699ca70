"""A Lightning module clips in `on_after_backward`, which is called in each of the batches that are accumulated."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Upscaler(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 3, padding=1), nn.PixelShuffle(2))

    def training_step(self, batch, _):
        small, large = batch
        return nn.functional.l1_loss(self.net(small), large)

    def on_after_backward(self):
        nn.utils.clip_grad_norm_(self.parameters(), 0.02)  # expect: AD125

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.5, momentum=0.9)


L.seed_everything(2)
large = nn.functional.interpolate(torch.rand(96, 1, 4, 4), size=(12, 12), mode="bilinear")
small = nn.functional.avg_pool2d(large, 2)
trainer = L.Trainer(
    max_epochs=2,
    accumulate_grad_batches=3,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Upscaler(), DataLoader(TensorDataset(small, large), batch_size=4, shuffle=True))
