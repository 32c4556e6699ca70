import lightning
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class TwoCrops(Dataset):
    def __init__(self, signals, length=24):
        self.signals, self.length = signals, length

    def __len__(self):
        return len(self.signals)

    def crop(self, index):
        generator = torch.Generator().manual_seed(index)
        start = int(torch.randint(0, self.signals.shape[1] - self.length, (1,), generator=generator))
        piece = self.signals[index, start : start + self.length]
        return piece * (0.8 + 0.4 * torch.rand(1, generator=generator))

    def __getitem__(self, index):
        return self.crop(index), self.crop(index)


class BarlowTwins(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Unflatten(1, (1, 24)), nn.Conv1d(1, 8, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(),
            nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 8),
        )  # fmt: skip

    def training_step(self, batch, index):
        left, right = batch
        a = self.net(left)
        b = self.net(right)  # <- AD716
        a, b = (a - a.mean(0)) / (a.std(0) + 1e-4), (b - b.mean(0)) / (b.std(0) + 1e-4)
        c = a.t() @ b / len(a)
        on, off = (c.diagonal() - 1).square().sum(), c.square().sum() - c.diagonal().square().sum()
        return on + 0.01 * off

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    lightning.seed_everything(1)
    time = torch.arange(64) / 64 * 6.28
    signals = torch.sin(torch.randint(1, 6, (480, 1)) * time + 6.28 * torch.rand(480, 1)) + 0.1 * torch.randn(480, 64)
    options = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", **options)
    trainer.fit(BarlowTwins(), DataLoader(TwoCrops(signals), batch_size=32, shuffle=True))
