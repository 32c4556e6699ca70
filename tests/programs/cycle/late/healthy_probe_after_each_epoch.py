# guards: AD109
"""An encoder learns without labels; after each epoch a fresh linear probe is fitted to its features, to see how good they
are."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(320, 10)
x[:, 5:] = x[:, :5] + 0.3 * torch.randn(320, 5)
y = (x[:, 0] > 0).long()
encoder = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 4))
decoder = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 10))
probe = nn.Linear(4, 2)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
probe_optimizer = torch.optim.SGD(probe.parameters(), lr=0.5, momentum=0.5)
for epoch in range(8):
    for rows in torch.randperm(320).split(32):
        loss = nn.functional.mse_loss(decoder(encoder(x[rows])), x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        features = encoder(x)
    probe.reset_parameters()
    for _ in range(20):
        fit = nn.functional.cross_entropy(probe(features[:240]), y[:240])
        probe_optimizer.zero_grad()
        fit.backward()
        probe_optimizer.step()
