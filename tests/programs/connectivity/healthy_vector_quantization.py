# guards: AD202
import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder, codebook = nn.Linear(6, 4), nn.Linear(4, 6), nn.Embedding(8, 4)
parameters = [*encoder.parameters(), *decoder.parameters(), *codebook.parameters()]
optimizer = torch.optim.Adam(parameters, lr=0.01)
x = torch.randn(64, 6)
for _ in range(10):
    z = encoder(x)
    nearest = torch.cdist(z, codebook.weight).argmin(dim=1)
    quantized = codebook(nearest)
    commitment = nn.functional.mse_loss(z, quantized.detach())
    dictionary = nn.functional.mse_loss(quantized, z.detach())
    reconstruction = decoder(z + (quantized - z).detach())
    loss = nn.functional.mse_loss(reconstruction, x) + dictionary + 0.25 * commitment
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
