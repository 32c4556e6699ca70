import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GestureNet(L.LightningModule):
    def __init__(self, channels=6, hidden=24, classes=4, lr=2e-3):
        super().__init__()
        self.save_hyperparameters()
        self.gru = nn.GRU(channels, hidden)
        self.out = nn.Linear(hidden, classes)
        self.loss = nn.CrossEntropyLoss()

    def forward(self, signals):
        states, _ = self.gru(signals)  # <- AD608
        return self.out(states[:, -1])

    def training_step(self, batch, batch_idx):
        signals, gesture = batch
        loss = self.loss(self(signals), gesture)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)


def recordings(n=320, length=20):
    gesture = torch.randint(0, 4, (n,))
    time = torch.arange(length) / length
    base = torch.sin((gesture[:, None] + 1) * 3.0 * time)[:, :, None]
    return TensorDataset(base + 0.3 * torch.randn(n, length, 6), gesture)


if __name__ == "__main__":
    L.seed_everything(3)
    trainer = L.Trainer(
        max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(GestureNet(), DataLoader(recordings(), batch_size=32, shuffle=True))
