# guards: AD701
"""A GAN that asks for a batch per step, with noise that is kept for pictures, and a regression on a small full batch."""

import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
real = torch.randn(96, 2) @ torch.tensor([[1.0, 0.5], [0.0, 0.3]])
loader = DataLoader(TensorDataset(real), batch_size=16, shuffle=False)
stream = itertools.chain.from_iterable(loader for _ in range(10))
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
g_opt = torch.optim.Adam(generator.parameters(), lr=1e-3)
d_opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
fixed_noise = torch.randn(16, 4)
bce = nn.BCEWithLogitsLoss()
for _ in range(20):
    (batch,) = next(stream)
    fake = generator(torch.randn(len(batch), 4))
    d_loss = bce(critic(batch), torch.ones(len(batch), 1)) + bce(critic(fake.detach()), torch.zeros(len(batch), 1))
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()
    g_loss = bce(critic(fake), torch.ones(len(batch), 1))
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
    with torch.no_grad():
        generator(fixed_noise)

x = torch.linspace(-1, 1, 40)[:, None]
y = x.pow(3)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(20):
    loss = (net(x[:]) - y).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
