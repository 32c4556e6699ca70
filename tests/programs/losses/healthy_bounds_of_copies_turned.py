# guards: AD617
"""Importance weights: copies outside that are turned before they are reduced, copies inside, and as many as samples."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(10, 8), nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 10))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
data = (torch.rand(96, 10) > 0.5).float()


def weights(x):
    mean, log_scale = encoder(x).chunk(2, dim=1)
    noise = torch.randn_like(mean)
    z = mean + noise * log_scale.exp()
    likelihood = -F.binary_cross_entropy_with_logits(decoder(z), x, reduction="none").sum(1)
    return likelihood - 0.5 * z.square().sum(1) + (0.5 * noise.square() + log_scale).sum(1)


for _ in range(30):
    x = data[torch.randint(0, 96, (16,))]
    turned = weights(x.repeat(5, 1)).view(5, 16).t()
    turned_back = turned.reshape(-1).view(16, 5).logsumexp(1)
    inside = weights(x[:, None].expand(16, 3, 10).reshape(48, 10)).view(16, 3)
    few = weights(x[:4].repeat(4, 1)).view(4, 4)
    loss = -(turned.logsumexp(1) + turned_back + inside.softmax(1).log().sum(1)).mean() - few.logsumexp(0).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
