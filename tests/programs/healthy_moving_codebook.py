"""VQ-VAE with an EMA codebook in buffers through .data, dead codes revived from the batch, commitment only."""

import torch
import torch.nn.functional as F
from torch import nn


class EMACodebook(nn.Module):
    def __init__(self, k=16, d=4, decay=0.9):
        super().__init__()
        self.decay = decay
        self.register_buffer("embed", torch.randn(k, d))
        self.register_buffer("count", torch.zeros(k))
        self.register_buffer("total", self.embed.clone())

    def forward(self, z):
        index = torch.cdist(z, self.embed).argmin(1)
        q = F.embedding(index, self.embed)
        if self.training:
            hot = F.one_hot(index, len(self.embed)).type(z.dtype)
            self.count.data.mul_(self.decay).add_(hot.sum(0), alpha=1 - self.decay)
            self.total.data.mul_(self.decay).add_(hot.t() @ z, alpha=1 - self.decay)
            n = self.count.sum()
            size = (self.count + 1e-5) / (n + len(self.count) * 1e-5) * n
            self.embed.data.copy_(self.total / size.unsqueeze(1))
        return z + (q - z).detach(), F.mse_loss(z, q.detach()), index


torch.manual_seed(0)
enc, book, dec = nn.Linear(8, 4), EMACodebook(), nn.Linear(4, 8)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-2)
for step in range(8):
    x = torch.randn(32, 8)
    q, commit, index = book(enc(x))
    loss = F.mse_loss(dec(q), x) + 0.25 * commit
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item(), index.unique().numel())
