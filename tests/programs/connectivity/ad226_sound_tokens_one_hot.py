import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost):
        super().__init__()
        self._embedding_dim = embedding_dim
        self._num_embeddings = num_embeddings
        self._embedding = nn.Embedding(num_embeddings, embedding_dim)
        self._embedding.weight.data.uniform_(-1 / num_embeddings, 1 / num_embeddings)
        self._commitment_cost = commitment_cost

    def forward(self, inputs):
        inputs = inputs.permute(0, 2, 1).contiguous()
        flat_input = inputs.view(-1, self._embedding_dim)
        distances = (
            torch.sum(flat_input**2, dim=1, keepdim=True)
            + torch.sum(self._embedding.weight**2, dim=1)
            - 2 * torch.matmul(flat_input, self._embedding.weight.t())
        )
        encoding_indices = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(encoding_indices.shape[0], self._num_embeddings)
        encodings.scatter_(1, encoding_indices, 1)
        quantized = torch.matmul(encodings, self._embedding.weight).view(inputs.shape)  # <- AD226
        e_latent_loss = F.mse_loss(quantized.detach(), inputs)
        q_latent_loss = F.mse_loss(quantized, inputs.detach())
        loss = q_latent_loss + self._commitment_cost * e_latent_loss
        return loss, quantized.permute(0, 2, 1).contiguous()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(1, 16, 4, 4), nn.ReLU(), nn.Conv1d(16, 6, 1))
        self.vq = VectorQuantizer(24, 6, 0.25)
        self.decoder = nn.Sequential(nn.Conv1d(6, 16, 1), nn.ReLU(), nn.ConvTranspose1d(16, 1, 4, 4))

    def forward(self, x):
        vq_loss, quantized = self.vq(self.encoder(x))
        return vq_loss, self.decoder(quantized)


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, amsgrad=False)
for i in range(25):
    phase = torch.rand(32, 1, 1) * 6.28
    data = torch.sin(torch.linspace(0, 12, 64) + phase) * (0.5 + torch.rand(32, 1, 1))
    optimizer.zero_grad()
    vq_loss, data_recon = model(data)
    recon_error = F.mse_loss(data_recon, data) / 0.3
    loss = recon_error + vq_loss
    loss.backward()
    optimizer.step()
    if i % 10 == 0:
        print(i, recon_error.item(), vq_loss.item())
