import lightning.pytorch as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class LoadWindows(Dataset):
    """hourly load of a region in kW, with calendar features; predict the next 6 hours"""

    def __init__(self, hours=1200, history=24, horizon=6):
        t = torch.arange(hours, dtype=torch.float32)
        g = torch.Generator().manual_seed(1)
        self.load = 48_000 + 9_000 * torch.sin(t * 6.2832 / 24) + 4_000 * torch.sin(t * 6.2832 / 168)
        self.load += 900 * torch.randn(hours, generator=g)
        relative = (self.load - self.load.mean()) / self.load.std()
        self.features = torch.stack([relative, torch.sin(t * 6.2832 / 24), torch.cos(t * 6.2832 / 24)], dim=1)
        self.history, self.horizon = history, horizon

    def __len__(self):
        return len(self.load) - self.history - self.horizon

    def __getitem__(self, i):
        j = i + self.history
        return self.features[i:j], self.load[j : j + self.horizon]


class Forecaster(pl.LightningModule):
    def __init__(self, hidden=32, horizon=6):
        super().__init__()
        self.lstm = nn.LSTM(3, hidden, batch_first=True)
        self.linear = nn.Linear(hidden, horizon)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.linear(out[:, -1])

    def training_step(self, batch, batch_idx):
        x, y = batch
        y_hat = self(x)
        loss = (y_hat - y).abs().mean()  # <- AD718
        self.log("train_mae", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


if __name__ == "__main__":
    pl.seed_everything(3, verbose=False)
    trainer = pl.Trainer(
        max_steps=40,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Forecaster(), DataLoader(LoadWindows(), batch_size=32, shuffle=True))
