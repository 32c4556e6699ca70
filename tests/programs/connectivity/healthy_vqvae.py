# guards: AD202 AD226
"""A VQ-VAE with straight-through codes, codebook and commitment losses."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings, dim, beta=0.25):
        super().__init__()
        self.embedding = nn.Embedding(num_embeddings, dim)
        nn.init.uniform_(self.embedding.weight, -0.5, 0.5)
        self.beta = beta

    def forward(self, z):
        distance = torch.cdist(z.detach(), self.embedding.weight.detach())
        indices = distance.argmin(dim=1)
        quantized = self.embedding(indices)
        loss = F.mse_loss(quantized, z.detach()) + self.beta * F.mse_loss(z, quantized.detach())
        return z + (quantized - z).detach(), loss


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
        self.vq = VectorQuantizer(16, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x):
        quantized, vq_loss = self.vq(self.encoder(x))
        return F.mse_loss(self.decoder(quantized), x) + vq_loss


torch.manual_seed(0)
centers = torch.randn(8, 10)
model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(40):
    x = centers[torch.randint(0, 8, (64,))] + 0.1 * torch.randn(64, 10)
    loss = model(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
