import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Autoencoder(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.encode = nn.Sequential(nn.Linear(12, 16), nn.ELU(), nn.Linear(16, 3))
        self.decode = nn.Sequential(nn.Linear(3, 16), nn.ELU(), nn.Linear(16, 12))

    def training_step(self, batch, index):
        (x,) = batch
        loss = nn.functional.mse_loss(self.decode(self.encode(x)), x)
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()
        self.log("loss", loss)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=5e-3)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)  # <- AD118
        return [optimizer], [{"scheduler": schedule, "interval": "epoch"}]


if __name__ == "__main__":
    lightning.seed_everything(0)
    x = torch.randn(160, 3) @ torch.randn(3, 12)
    options = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    lightning.Trainer(max_epochs=4, accelerator="cpu", **options).fit(
        Autoencoder(), DataLoader(TensorDataset(x), batch_size=32, shuffle=True)
    )
