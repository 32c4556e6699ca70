# guards: AD617
"""What is repeated is one sample, a constant of many rows, or learned: no group holds values of several samples."""

import torch
from torch import nn

torch.manual_seed(0)
queries = nn.Parameter(torch.randn(6, 4))
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam([queries, *model.parameters()], lr=1e-2)
for _ in range(30):
    start, one = torch.zeros(6, 4).repeat(5, 1), torch.randn(1, 4)
    drawn = model(start + torch.randn(30, 4)).view(6, 5)
    alike = one.expand(6, 4).repeat(5, 1) + 0.1 * torch.randn(30, 4)
    single = model(one.repeat(30, 1) + torch.randn(30, 4)).view(6, 5)
    slots = model(queries.repeat(5, 1)).view(6, 5)
    terms = [drawn.logsumexp(1), model(alike).view(6, 5).logsumexp(1), single.logsumexp(1), slots.logsumexp(1)]
    loss = torch.stack(terms).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
