# guards: AD621
"""Transformer-based text autoencoder (T-TA): queries are positions only, and the diagonal of attention is masked, so that each
token is told from all others; the separator between two sentences is no target. One layer, so nothing comes back by a detour."""
import torch
from torch import nn
import torch.nn.functional as F

V, SEP, T = 26, 0, 12
torch.manual_seed(0)


class TTA(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.emb, self.pos = nn.Embedding(V, d), nn.Parameter(0.3 * torch.randn(T, d))
        self.att = nn.ModuleList([nn.MultiheadAttention(d, 4, batch_first=True) for _ in range(2)])
        self.out = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 96), nn.GELU(), nn.Linear(96, V))

    def forward(self, ids):
        kv = self.emb(ids) + self.pos
        q = self.pos.expand(len(ids), -1, -1)
        diagonal = torch.eye(T, dtype=torch.bool)
        for att in self.att:
            q = q + att(q, kv, kv, attn_mask=diagonal, need_weights=False)[0]
        return self.out(q)


def sentences(n):
    start, step = torch.randint(0, V - 1, (n, 1)), torch.randint(1, 3, (n, 1))
    ids = (start + step * torch.arange(T)) % (V - 1) + 1
    return ids.masked_fill(torch.arange(T) == torch.randint(4, 9, (n, 1)), SEP)


net = TTA()
opt = torch.optim.Adam(net.parameters(), 5e-3)
for step in range(80):
    ids = sentences(48)
    loss = F.cross_entropy(net(ids).transpose(1, 2), ids.masked_fill(ids == SEP, -100))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0 or step == 79: print(step, round(loss.item(), 3))
