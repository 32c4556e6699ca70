# guards: AD101
"""A Lightning GAN with manual optimization."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GAN(L.LightningModule):
    def __init__(self, latent=6):
        super().__init__()
        self.automatic_optimization = False
        self.latent = latent
        self.generator = nn.Sequential(nn.Linear(latent, 24), nn.ReLU(), nn.Linear(24, 2))
        self.discriminator = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
        self.criterion = nn.BCEWithLogitsLoss()

    def configure_optimizers(self):
        g = torch.optim.Adam(self.generator.parameters(), lr=2e-3)
        d = torch.optim.Adam(self.discriminator.parameters(), lr=2e-3)
        return [g, d]

    def training_step(self, batch, batch_idx):
        (real,) = batch
        g_opt, d_opt = self.optimizers()
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        fake = self.generator(torch.randn(len(real), self.latent))

        self.toggle_optimizer(d_opt)
        d_loss = self.criterion(self.discriminator(real), ones)
        d_loss = d_loss + self.criterion(self.discriminator(fake.detach()), zeros)
        d_opt.zero_grad()
        self.manual_backward(d_loss)
        d_opt.step()
        self.untoggle_optimizer(d_opt)

        self.toggle_optimizer(g_opt)
        g_loss = self.criterion(self.discriminator(fake), ones)
        g_opt.zero_grad()
        self.manual_backward(g_loss)
        g_opt.step()
        self.untoggle_optimizer(g_opt)


def main():
    L.seed_everything(1, verbose=False)
    angle = 6.28 * torch.rand(320)
    data = TensorDataset(torch.stack([angle.cos(), angle.sin()], 1))
    trainer = L.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(GAN(), DataLoader(data, batch_size=32, shuffle=True))


if __name__ == "__main__":
    main()
