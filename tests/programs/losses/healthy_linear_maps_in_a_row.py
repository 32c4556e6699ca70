# guards: AD610
"""Linear maps that follow one another for good reasons: adapters, spatial factors, upsampling, a shared projection."""

import torch
from torch import nn
from torch.nn import functional as F


class Adapted(nn.Module):
    """A layer with a low-rank correction."""

    def __init__(self, inside, outside, rank=2):
        super().__init__()
        self.base = nn.Linear(inside, outside)
        self.down = nn.Linear(inside, rank, bias=False)
        self.up = nn.Linear(rank, outside, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + 0.5 * self.up(self.down(x))


class Super(nn.Module):
    def __init__(self):
        super().__init__()
        self.across = nn.Conv2d(3, 8, (1, 5), padding=(0, 2))
        self.along = nn.Conv2d(8, 8, (5, 1), padding=(2, 0))
        self.grow = nn.Conv2d(8, 8 * 4, 3, padding=1)
        self.tail = nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, x):
        h = F.relu(self.along(self.across(x)))
        return self.tail(F.pixel_shuffle(self.grow(h), 2))


class Mixer(nn.Module):
    """Tokens are mixed along one axis, channels along the other."""

    def __init__(self, tokens=6, channels=6):
        super().__init__()
        self.tokens = nn.Linear(tokens, tokens)
        self.channels = nn.Linear(channels, channels)
        self.time = nn.Sequential(nn.Linear(1, 12), nn.SiLU(), nn.Linear(12, 12))
        self.scale, self.shift = nn.Linear(12, channels), nn.Linear(12, channels)

    def forward(self, x, t):
        x = self.channels(self.tokens(x.transpose(1, 2)).transpose(1, 2))
        when = self.time(t)
        return x * (1 + self.scale(when)).unsqueeze(1) + self.shift(when).unsqueeze(1)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(6, 8 * 4)
        self.deconv = nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1)

    def forward(self, z):
        return self.deconv(self.lift(z).view(-1, 8, 2, 2))


torch.manual_seed(5)
adapted, upscale, mixer, decoder = Adapted(6, 6), Super(), Mixer(), Decoder()
parts = nn.ModuleList([adapted, upscale, mixer, decoder])
optimizer = torch.optim.Adam(parts.parameters(), lr=3e-3)
for _ in range(15):
    small = torch.randn(4, 3, 6, 6)
    large = F.interpolate(small, scale_factor=2)
    picture = F.mse_loss(upscale(small), large)
    tokens = torch.randn(8, 6, 6)
    mixed = F.mse_loss(mixer(adapted(tokens), torch.rand(8, 1)), tokens.roll(1, dims=1))
    painted = F.mse_loss(decoder(torch.randn(4, 6)), torch.zeros(4, 3, 4, 4))
    loss = picture + mixed + painted
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
