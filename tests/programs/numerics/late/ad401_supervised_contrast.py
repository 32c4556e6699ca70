import warnings
import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
L.seed_everything(87, verbose=False)


class Lit(L.LightningModule):
    """supervised contrastive pretraining"""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 8))

    def training_step(self, batch, i):
        x, y = batch
        z = F.normalize(self.net(x), dim=1)
        sim = z @ z.t() / 0.2
        eye = torch.eye(len(y), dtype=torch.bool)
        logp = sim - torch.logsumexp(sim.masked_fill(eye, -1e9), 1, keepdim=True)
        pos = (y[:, None] == y[None]) & ~eye
        per = -(logp * pos).sum(1) / pos.sum(1)  # expect: AD401
        loss = per.mean()
        if i % 8 == 0:
            print(self.current_epoch, i, f"{loss.item():.4f}")
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


centres = torch.randn(4, 12)
y = torch.randint(0, 4, (640,))
y[517] = 4
centres = torch.cat([centres, torch.randn(1, 12)])
x = centres[y] + 0.5 * torch.randn(640, 12)
trainer = L.Trainer(
    max_epochs=2,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Lit(), DataLoader(TensorDataset(x, y), batch_size=32))
