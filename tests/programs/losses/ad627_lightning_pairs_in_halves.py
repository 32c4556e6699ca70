import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Contrastive(L.LightningModule):
    def __init__(self, width=24, temperature=0.1):
        super().__init__()
        self.temperature = temperature
        self.backbone = nn.GRU(4, width, batch_first=True)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 16))

    def jitter(self, series):
        scale = 1 + 0.1 * torch.randn(len(series), 1, series.shape[2])
        return series * scale + 0.05 * torch.randn_like(series)

    def embed(self, series):
        _, last = self.backbone(series)
        return nn.functional.normalize(self.head(last[0]), dim=-1)

    def training_step(self, batch, _):
        (series,) = batch
        z = self.embed(torch.cat((self.jitter(series), self.jitter(series))))
        m = len(z)
        logits = z @ z.T / self.temperature
        logits.masked_fill_(torch.eye(m, dtype=torch.bool), -torch.finfo(z.dtype).max)
        positives = torch.arange(m).view(-1, 2).flip(1).flatten()
        loss = nn.functional.cross_entropy(logits, positives)  # <- AD627
        self.log("train/nt_xent", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    L.seed_everything(11, verbose=False)
    waves = torch.randn(480, 1, 4) + torch.randn(480, 12, 4).cumsum(1) * 0.3
    trainer = L.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Contrastive(), DataLoader(TensorDataset(waves), batch_size=40, shuffle=True))
