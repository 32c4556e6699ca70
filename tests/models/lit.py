import torch
from lightning.pytorch import LightningModule
from torch import nn
from torch.nn import functional as F


class LitClassifier(LightningModule):
    def __init__(self, lr: float = 1e-3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(28 * 28, 32), nn.ReLU(), nn.Linear(32, 10))
        self.lr = lr

    def forward(self, x):
        return self.net(x.flatten(1))

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr)
