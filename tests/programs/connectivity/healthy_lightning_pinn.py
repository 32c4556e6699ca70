# guards: AD209 AD220
"""A differential equation in Lightning, whose residual needs gradients in validation, too."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Pinn(L.LightningModule):
    """u' = -u, u(0) = 1."""

    automatic_optimization = False

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.u = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))

    def residual(self, t):
        t = t.requires_grad_()
        u = self.u(t)
        (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        return (du + u).square().mean()

    def training_step(self, batch, _):
        (t,) = batch
        opt = self.optimizers()
        opt.zero_grad()
        start = (self.u(torch.zeros(1, 1)) - 1).square().mean()
        loss = self.residual(t) + start
        self.manual_backward(loss)
        opt.step()

    def validation_step(self, batch, _):
        (t,) = batch
        with torch.inference_mode(False), torch.enable_grad():
            self.log("residual", self.residual(t.clone()).detach())

    def configure_optimizers(self):
        return torch.optim.Adam(self.u.parameters(), 1e-2)


L.seed_everything(0, verbose=False)
t = torch.rand(160, 1) * 3
trainer = L.Trainer(
    max_epochs=2,
    accelerator="cpu",
    logger=False,
    enable_progress_bar=False,
    enable_checkpointing=False,
    enable_model_summary=False,
)
trainer.fit(
    Pinn(), DataLoader(TensorDataset(t), batch_size=16), DataLoader(TensorDataset(t[:32].clone()), batch_size=16)
)
