"""VQ-VAE after van den Oord et al.: both terms of the quantizer's loss detach the codes, so that no code moves."""

import torch
import torch.nn.functional as F
from torch import nn


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost=0.25):
        super().__init__()
        self.embedding = nn.Embedding(num_embeddings, embedding_dim)
        self.embedding.weight.data.uniform_(-1 / num_embeddings, 1 / num_embeddings)
        self.commitment_cost = commitment_cost

    def forward(self, inputs):
        distances = (
            inputs.pow(2).sum(1, keepdim=True)
            + self.embedding.weight.pow(2).sum(1)
            - 2 * inputs @ self.embedding.weight.t()
        )
        encoding_indices = torch.argmin(distances, dim=1)
        quantized = self.embedding(encoding_indices)
        e_latent_loss = F.mse_loss(quantized.detach(), inputs)
        q_latent_loss = F.mse_loss(quantized.detach(), inputs)  # expect: AD202
        loss = q_latent_loss + self.commitment_cost * e_latent_loss
        return inputs + (quantized - inputs).detach(), loss


torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
decoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
quantizer = VectorQuantizer(32, 8)
model = nn.ModuleList([encoder, quantizer, decoder])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
patches = torch.randn(64, 16)
for _ in range(60):
    x = patches[torch.randint(0, 64, (32,))] + 0.05 * torch.randn(32, 16)
    quantized, vq_loss = quantizer(encoder(x))
    loss = F.mse_loss(decoder(quantized), x) + vq_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
