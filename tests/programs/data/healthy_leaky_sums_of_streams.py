# guards: AD712
"""Leaky sums of what sensors tell, one for each stream; a reader looks at them, a few streams at a time."""

import torch
from torch import nn

torch.manual_seed(2)
traces = torch.zeros(48, 8)
states = torch.randint(0, 3, (48,))
patterns = torch.randn(3, 8)
reader = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(reader.parameters(), lr=3e-3)
for tick in range(12):
    for low in range(0, 48, 12):
        trace, state = traces[low : low + 12], states[low : low + 12]
        trace.mul_(0.9).add_(patterns[state] + 0.3 * torch.randn(12, 8))
        loss = nn.functional.cross_entropy(reader(trace), state)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
