# guards: AD405
"""A chain of links hangs from two nails: it begins as loose threads, and springs are made stiffer until it holds."""

import torch

LINKS, LENGTH = 16, 0.12
torch.manual_seed(9)
ends = torch.tensor([[0.0, 0.0], [1.5, 0.0]])
joints = torch.nn.Parameter(torch.stack([torch.linspace(0.1, 1.4, LINKS - 1), torch.zeros(LINKS - 1)], 1) * 0.01)
optimizer = torch.optim.Adam([joints], lr=0.01)
stiffness = 1e-3
for step in range(240):
    chain = torch.cat([ends[:1], joints, ends[1:]])
    stretched = (chain.diff(dim=0).norm(dim=1) - LENGTH).square().sum()
    height = (chain[:, 1] + 2.0).square().mean() * 1e-3
    loss = height + stiffness * stretched
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 14:
        stiffness *= 3.0
