# guards: AD710
"""Spectra are compressed by an autoencoder; its small encoder goes on into a large regressor, the decoder does not."""

import torch
from torch import nn

torch.manual_seed(0)


def encoder():
    return nn.Sequential(nn.Linear(20, 12), nn.ELU(), nn.Linear(12, 4))


def train(model, data, steps, rate):
    optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=rate)
    for _ in range(steps):
        x, y = data()
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


class Two(nn.Module):
    def __init__(self, second):
        super().__init__()
        self.encoder, self.second = encoder(), second

    def forward(self, x):
        return self.second(self.encoder(x))


class Compressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = encoder()
        self.decoder = nn.Sequential(nn.Linear(4, 40), nn.ELU(), nn.Linear(40, 20))

    def forward(self, x):
        return self.decoder(self.encoder(x))


mixing = torch.randn(3, 20)


def spectra():
    x = torch.randn(32, 3) @ mixing
    return x, x


def contents():
    amounts = torch.randn(32, 3)
    return amounts @ mixing, amounts[:, :1] * amounts[:, 1:2]


compressor = Compressor()
train(compressor, spectra, 20, 3e-3)
regressor = Two(nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)))
print(regressor.load_state_dict(compressor.state_dict(), strict=False))
train(regressor, contents, 20, 1e-3)
