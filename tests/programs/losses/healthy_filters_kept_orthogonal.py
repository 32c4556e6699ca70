# guards: AD628
"""Filters of a spectrometer that are kept orthogonal by a sum over their own products: of weights, not of the batch,
which happens to have as many rows as there are filters."""
import torch
from torch import nn

torch.manual_seed(8)
FILTERS, BANDS = 16, 40
filters = nn.Linear(BANDS, FILTERS, bias=False)
nn.init.orthogonal_(filters.weight)
head = nn.Sequential(nn.Softplus(), nn.Linear(FILTERS, 1))
optimizer = torch.optim.Adam([*filters.parameters(), *head.parameters()], lr=2e-3)
mix = torch.randn(BANDS, 1) / BANDS**0.5
for _ in range(40):
    spectra = torch.rand(16, BANDS)
    amount = spectra @ mix
    fit = nn.functional.mse_loss(head(filters(spectra)), amount)
    overlap = filters.weight @ filters.weight.t() - torch.eye(FILTERS)
    loss = fit + overlap.square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
