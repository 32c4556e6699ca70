"""A VAE whose evaluation draws the same noise each time, and leaves the seed to the training."""
import torch
from torch import nn


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(12, 8)
        self.decoder = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 12))

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1)
        return ((self.decoder(z) - x).square().sum(1) + divergence).mean()


def evaluate(model, x):
    torch.manual_seed(0)  # expect: AD709
    model.eval()
    with torch.no_grad():
        value = sum(model(x).item() for _ in range(4)) / 4
    model.train()
    return value


torch.manual_seed(5)
x = torch.randn(128, 12)
held_out = torch.randn(40, 12)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(7):
    for low in range(0, 128, 16):
        loss = model(x[low : low + 16])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(evaluate(model, held_out))
