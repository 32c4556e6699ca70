"""A decoder that reads its last output from the buffer into which it writes the next one."""

import torch
from torch import nn


def decode(cell, proj, h, steps):
    outs = torch.zeros(h.size(0), steps + 1, proj.out_features)
    for t in range(steps):
        inp = outs[:, t]
        h = cell(inp, h)
        outs[:, t + 1] = proj(h)  # expect: AD501
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
