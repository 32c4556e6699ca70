# guards: AD720
# hinted: AD720
"""Spectra of two instruments, each in counts of its own: standardised within each, for one model."""
import torch
from torch import nn


def spectra(count, gain, dark):
    amounts = torch.rand(count, 3)
    bands = torch.linspace(0, 3, 16)
    pure = torch.exp(-((bands - torch.tensor([[0.5], [1.4], [2.3]])) ** 2) / 0.3)
    return dark + gain * (amounts @ pure + 0.02 * torch.randn(count, 16)), amounts


def within(counts):
    counts = counts - counts.mean(dim=0, keepdim=True)
    return counts / (counts.std(dim=0, keepdim=True) + 1e-6)


torch.manual_seed(8)
old, old_amounts = spectra(240, gain=900.0, dark=150.0)
new, new_amounts = spectra(80, gain=0.04, dark=0.5)
seen, unseen = within(old), within(new)
model = nn.Sequential(nn.Linear(16, 24), nn.GELU(), nn.Linear(24, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for epoch in range(5):
    for rows in torch.randperm(len(seen)).split(30):
        loss = nn.functional.mse_loss(model(seen[rows]), old_amounts[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.inference_mode():
        print(epoch, loss.item(), nn.functional.mse_loss(model(unseen), new_amounts).item())
    model.train()
