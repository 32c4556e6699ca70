"""A denoising autoencoder on standardised measurements."""

import torch
import torch.nn as nn

torch.manual_seed(0)


class DAE(nn.Module):
    def __init__(self, n=10):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n, 6), nn.Tanh())
        self.dec = nn.Linear(6, n)

    def forward(self, x):
        return torch.sigmoid(self.dec(self.enc(x)))  # expect: AD614


data = torch.randn(400, 3) @ torch.randn(3, 10)
data = (data - data.mean(0)) / data.std(0)
model, mse = DAE(), nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    for clean in data[torch.randperm(400)].split(50):
        loss = mse(model(clean + 0.1 * torch.randn_like(clean)), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
