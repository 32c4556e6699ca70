# guards: AD627
"""Sampled softmax: frequent words are among the negatives of a batch more often than not."""
import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
V = 200
p = 1 / (1 + torch.arange(V)).float(); p /= p.sum()
ctx, out = nn.Embedding(V, 16), nn.Embedding(V, 16)
opt = torch.optim.Adam([*ctx.parameters(), *out.parameters()], lr=0.01)
for s in range(40):
    x = torch.multinomial(p, 64, True); y = torch.multinomial(p, 64, True)
    neg = torch.multinomial(p, 100)   # unique
    h = ctx(x)
    logits = torch.cat([(h * out(y)).sum(1, keepdim=True), h @ out(neg).T], 1)
    loss = F.cross_entropy(logits, torch.zeros(64, dtype=torch.long))
    opt.zero_grad(); loss.backward(); opt.step()
