# guards: AD628
"""A variational autoencoder whose reconstruction term is summed in older words for that."""
import argparse

import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description="VAE")
parser.add_argument("--batch-size", type=int, default=40)
parser.add_argument("--epochs", type=int, default=3)
args = parser.parse_args()
torch.manual_seed(1)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(36, 32)
        self.fc21 = nn.Linear(32, 3)
        self.fc22 = nn.Linear(32, 3)
        self.fc3 = nn.Linear(3, 32)
        self.fc4 = nn.Linear(32, 36)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 36))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    bce = F.binary_cross_entropy(recon_x, x.view(-1, 36), size_average=False)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld


def crosses(n):
    x = torch.zeros(n, 1, 6, 6)
    x[torch.arange(n), 0, torch.randint(0, 6, (n,))] = 1
    x[torch.arange(n), 0, :, torch.randint(0, 6, (n,))] = 1
    return TensorDataset(x * (0.8 + 0.2 * torch.rand(n, 1, 1, 1)))


model = VAE()
optimizer = optim.Adam(model.parameters(), lr=3e-3)
train_loader = DataLoader(crosses(400), batch_size=args.batch_size, shuffle=True)
test_loader = DataLoader(crosses(80), batch_size=80)
for epoch in range(1, args.epochs + 1):
    model.train()
    train_loss = 0
    for (data,) in train_loader:
        optimizer.zero_grad()
        recon, mu, logvar = model(data)
        loss = loss_function(recon, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        test_loss = 0
        for (data,) in test_loader:
            recon, mu, logvar = model(data)
            test_loss += loss_function(recon, data, mu, logvar).item()
        sample = model.decode(torch.randn(4, 3))
    print(epoch, train_loss / 400, test_loss / 80, sample.mean().item())
