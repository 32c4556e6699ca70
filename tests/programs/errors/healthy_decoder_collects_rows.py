# guards: AD501
"""A decoder that collects its outputs in a list and stacks them."""

import torch
from torch import nn


def decode(cell, proj, h, steps):
    outs = torch.zeros(h.size(0), steps + 1, proj.out_features)
    rows = [outs[:, 0]]
    for _t in range(steps):
        inp = rows[-1]
        h = cell(inp, h)
        rows.append(proj(h))
    outs = torch.stack(rows, 1)
    return outs[:, 1:]


torch.manual_seed(0)
cell, proj = nn.GRUCell(3, 16), nn.Linear(16, 3)
params = list(cell.parameters()) + list(proj.parameters())
opt = torch.optim.Adam(params, lr=1e-2)
for _k in range(6):
    h0 = torch.randn(5, 16)
    tgt = torch.randn(5, 4, 3)
    pred = decode(cell, proj, h0, 4)
    loss = (pred - tgt).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
