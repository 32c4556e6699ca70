import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regressor(lightning.LightningModule):
    def __init__(self, momentum=0.95):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(7, 24), nn.BatchNorm1d(24), nn.GELU(), nn.Linear(24, 24), nn.BatchNorm1d(24), nn.GELU(), nn.Linear(24, 1)  # <- AD623
        )
        for module in self.net:
            if isinstance(module, nn.BatchNorm1d):
                module.momentum = momentum

    def training_step(self, batch, index):
        x, y = batch
        return nn.functional.huber_loss(self.net(x), y)

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val", nn.functional.huber_loss(self.net(x), y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


def data(n):
    x = torch.randn(n, 7)
    return TensorDataset(x, x[:, :1] * x[:, 1:2] + x[:, 2:3])


if __name__ == "__main__":
    lightning.seed_everything(5)
    options = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", **options)
    trainer.fit(Regressor(), DataLoader(data(320), 32, shuffle=True), DataLoader(data(64), 64))
