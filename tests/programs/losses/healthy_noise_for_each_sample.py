# guards: AD608
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 12))

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decoder(code), mean, log_variance


torch.manual_seed(11)
factors = torch.randn(480, 4)
data = DataLoader(TensorDataset(factors @ torch.randn(4, 12)), batch_size=40, shuffle=True)
model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(4):
    total = 0.0
    for (x,) in data:
        output, mean, log_variance = model(x)
        reconstruction = (output - x).square().sum(1).mean()
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1).mean()
        optimizer.zero_grad()
        (reconstruction + divergence).backward()
        optimizer.step()
        total += reconstruction.item()
    print(epoch, total / len(data))
