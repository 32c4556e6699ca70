# guards: AD720
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Patches(Dataset):
    def __init__(self, count, seed, scale=None):
        draw = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 3, (count,), generator=draw)
        tint = torch.eye(3)[self.labels][:, :, None, None]
        self.pictures = 120 + 40 * tint + 25 * torch.randn(count, 3, 8, 8, generator=draw)
        if scale is None:
            scale = (self.pictures.mean(dim=(0, 2, 3), keepdim=True), self.pictures.std(dim=(0, 2, 3), keepdim=True))
        self.scale = scale
        self.pictures = (self.pictures - scale[0]) / scale[1]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.pictures[index], self.labels[index]


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 3)
        )

    def forward(self, x):
        return self.body(x)

    def training_step(self, batch, _):
        x, y = batch
        return nn.functional.cross_entropy(self(x), y)

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_acc", (self(x).argmax(1) == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


L.seed_everything(0)
trainer = L.Trainer(
    max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False,
)
train = Patches(240, 1)
held_out = Patches(90, 2, scale=train.scale)
trainer.fit(Net(), DataLoader(train, batch_size=24, shuffle=True), DataLoader(held_out, batch_size=30))
