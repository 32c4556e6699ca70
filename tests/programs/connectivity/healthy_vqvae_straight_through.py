# guards: AD216 AD226
"""VQ-VAE: codebook loss, commitment loss and a straight-through estimator, written in one forward."""
import torch
from torch import nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost=0.5):
        super().__init__()
        self.codebook = nn.Embedding(num_embeddings, embedding_dim)
        nn.init.normal_(self.codebook.weight, std=0.5)
        self.commitment_cost = commitment_cost

    def forward(self, z):
        idx = torch.cdist(z, self.codebook.weight).argmin(dim=1)
        q = self.codebook(idx)
        e_latent_loss = F.mse_loss(q.detach(), z)
        q_latent_loss = F.mse_loss(q, z.detach())
        loss = q_latent_loss + self.commitment_cost * e_latent_loss
        q = z + (q - z).detach()
        usage = torch.bincount(idx, minlength=self.codebook.num_embeddings).float() / len(idx)
        perplexity = torch.exp(-(usage * (usage + 1e-10).log()).sum())
        return loss, q, perplexity


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
        self.vq = VectorQuantizer(16, 4)
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x):
        vq_loss, q, perplexity = self.vq(self.enc(x))
        return vq_loss, self.dec(q), perplexity


torch.manual_seed(0)
clusters = torch.randn(12, 16)
model = Model()
optimizer = torch.optim.Adam([
    {"params": [*model.enc.parameters(), *model.dec.parameters()], "lr": 3e-3},
    {"params": model.vq.parameters(), "lr": 3e-2},
])
for i in range(40):
    data = clusters[torch.randint(0, 12, (128,))] + 0.1 * torch.randn(128, 16)
    optimizer.zero_grad()
    vq_loss, recon, perplexity = model(data)
    recon_error = F.mse_loss(recon, data)
    loss = recon_error + vq_loss
    loss.backward()
    optimizer.step()
    if i % 10 == 9:
        print('%d iterations, recon %.3f, perplexity %.2f' % (i + 1, recon_error.item(), perplexity.item()))
