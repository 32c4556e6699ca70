"""Two encoders of paired measurements are pulled together; the optimizer was built from the first one alone."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(2)

spectra = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8, bias=False))
images = nn.Sequential(nn.Flatten(), nn.Linear(36, 32), nn.ReLU(), nn.Linear(32, 8, bias=False))
optimizer = torch.optim.AdamW(spectra.parameters(), lr=1e-3)  # expect: AD204

mix_a, mix_b = torch.randn(5, 20), torch.randn(5, 36)
for step in range(50):
    factors = torch.randn(48, 5)
    a = F.normalize(spectra(factors @ mix_a + 0.1 * torch.randn(48, 20)), dim=1)
    b = F.normalize(images((factors @ mix_b + 0.1 * torch.randn(48, 36)).view(48, 6, 6)), dim=1)
    scores = a @ b.t() / 0.2
    labels = torch.arange(48)
    loss = F.cross_entropy(scores, labels) + F.cross_entropy(scores.t(), labels)
    optimizer.zero_grad()
    images.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
