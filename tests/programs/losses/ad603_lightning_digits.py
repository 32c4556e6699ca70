"""Digits with Lightning; the loss is kept in the module."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Digits(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU())
        self.head = nn.Linear(32, 10)
        self.loss = nn.NLLLoss()

    def forward(self, x):
        return self.head(self.body(x))

    def training_step(self, batch, _):
        x, y = batch
        return self.loss(self(x), y)  # expect: AD603

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)


images = torch.randn(256, 1, 8, 8)
data = TensorDataset(images, images.flatten(1)[:, :10].argmax(1))
trainer = L.Trainer(
    max_epochs=2,
    accelerator="cpu",
    logger=False,
    enable_progress_bar=False,
    enable_checkpointing=False,
    enable_model_summary=False,
)
trainer.fit(Digits(), DataLoader(data, batch_size=32))
