# guards: AD216
# hinted: AD802
"""An autoencoder whose costly decorrelation penalty is computed again in the backward, by a reentrant checkpoint."""
import torch
from torch.utils.checkpoint import checkpoint


def decorrelation(codes):
    centred = codes - codes.mean(0)
    covariance = centred.T @ centred / len(codes)
    return 0.1 * (covariance - torch.diag(covariance.diagonal())).square().sum()


torch.manual_seed(0)
encoder, decoder = torch.nn.Linear(10, 4), torch.nn.Linear(4, 10)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
mixing = torch.randn(4, 10)
for step in range(30):
    x = torch.randn(64, 4) @ mixing
    codes = encoder(x)
    loss = torch.nn.functional.mse_loss(decoder(codes), x) + checkpoint(decorrelation, codes, use_reentrant=True)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
