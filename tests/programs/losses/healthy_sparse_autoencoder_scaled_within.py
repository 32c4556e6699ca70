# guards: AD628
import torch
import torch.nn as nn
import torch.nn.functional as F


class SparseAutoencoder(nn.Module):
    """Over activations of a language model, after Bricken et al."""

    def __init__(self, d_model=24, d_dict=96, l1_coefficient=2e-4):
        super().__init__()
        self.l1_coefficient = l1_coefficient
        self.b_dec = nn.Parameter(torch.zeros(d_model))
        self.encoder = nn.Linear(d_model, d_dict)
        self.decoder = nn.Linear(d_dict, d_model, bias=False)

    def forward(self, x):
        acts = F.relu(self.encoder(x - self.b_dec))
        return self.decoder(acts) + self.b_dec, acts

    def loss(self, x):
        x_hat, acts = self(x)
        reconstruction = (x_hat - x).pow(2).mean()
        sparsity = torch.sum(self.l1_coefficient * acts.abs())
        return reconstruction + sparsity, (acts > 0).float().sum(-1).mean()

    @torch.no_grad()
    def unit_norm(self):
        self.decoder.weight.div_(self.decoder.weight.norm(dim=0, keepdim=True))


def activations(batch, features):
    on = (torch.rand(batch, len(features)) < 0.05).float()
    return (on * torch.rand(batch, len(features))) @ features


torch.manual_seed(0)
features = F.normalize(torch.randn(60, 24), dim=1)
sae = SparseAutoencoder()
sae.unit_norm()
optimizer = torch.optim.Adam(sae.parameters(), lr=1e-3)
for step in range(60):
    loss, l0 = sae.loss(activations(128, features))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    sae.unit_norm()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f} L0 {l0.item():.1f}")
