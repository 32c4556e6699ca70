import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GatedVAE(nn.Module):
    def __init__(self, features=12, latent=4):
        super().__init__()
        self.gate = nn.Linear(features, features)
        self.encoder = nn.Linear(features, 2 * latent)
        self.decoder = nn.Linear(latent, features)

    def forward(self, x):
        attended = x * torch.softmax(self.gate(x), dim=0)  # expect: AD608
        mu, logvar = self.encoder(attended).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.decoder(z), mu, logvar


torch.manual_seed(0)
basis = torch.randn(4, 12)
loader = DataLoader(TensorDataset(torch.randn(400, 4) @ basis), batch_size=20, shuffle=True)
vae = GatedVAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)
for epoch in range(2):
    for (x,) in loader:
        recon, mu, logvar = vae(x)
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        loss = (recon - x).pow(2).sum(1).mean() + 0.1 * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
