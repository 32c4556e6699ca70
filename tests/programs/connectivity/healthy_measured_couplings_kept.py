# guards: AD206
"""Loads of a power grid: measured couplings are held back, the others are fitted without decay."""
import torch
from torch import nn

NODES, MEASURED = 80, 64
torch.manual_seed(32)
true = torch.randn(NODES, NODES) / NODES**0.5
coupling = nn.Linear(NODES, NODES)
with torch.no_grad():
    coupling.weight[:MEASURED] = true[:MEASURED]
solver = torch.optim.AdamW(coupling.parameters(), lr=3e-3, weight_decay=0)
for hour in range(40):
    injected = torch.randn(48, NODES)
    flow = injected @ true.T + 0.05 * torch.randn(48, NODES)
    misfit = (coupling(injected) - flow).pow(2).mean()
    solver.zero_grad()
    misfit.backward()
    coupling.weight.grad[:MEASURED].zero_()
    solver.step()
print(misfit.item(), (coupling.weight[:MEASURED] - true[:MEASURED]).abs().max().item())
