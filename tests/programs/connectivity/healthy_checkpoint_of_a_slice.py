# guards: AD220
# hinted: AD802
"""A slice of the inputs goes into a re-entrant checkpoint, which needs one that requires a gradient."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
layer, head = nn.Linear(6, 8), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.05)
x = torch.randn(64, 6).requires_grad_()
for _ in range(8):
    hidden = checkpoint(layer, x[:32], use_reentrant=True)
    optimizer.zero_grad()
    head(torch.relu(hidden)).square().mean().backward()
    optimizer.step()
