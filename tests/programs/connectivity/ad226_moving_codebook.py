import torch
from torch import nn

torch.manual_seed(6)
SIDE, CODES, WIDTH = 8, 16, 4


class Book:
    """Entries that follow the mean of what is assigned to them."""

    def __init__(self):
        self.entries = torch.randn(CODES, WIDTH)
        self.counts = torch.ones(CODES)

    @torch.no_grad()
    def nearest(self, z):
        return (z[:, None] - self.entries).square().sum(-1).min(dim=1).indices

    @torch.no_grad()
    def follow(self, z, index):
        one_hot = nn.functional.one_hot(index, CODES).float()
        self.counts = 0.95 * self.counts + 0.05 * one_hot.sum(0)
        means = one_hot.t() @ z / one_hot.sum(0).clamp(min=1)[:, None]
        seen = one_hot.sum(0) > 0
        self.entries[seen] = 0.9 * self.entries[seen] + 0.1 * means[seen]


book = Book()
enc = nn.Sequential(nn.Flatten(), nn.Linear(SIDE * SIDE, 32), nn.GELU(), nn.Linear(32, WIDTH))
dec = nn.Sequential(nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, SIDE * SIDE), nn.Unflatten(1, (SIDE, SIDE)))
opt = torch.optim.Adam([{"params": enc.parameters()}, {"params": dec.parameters()}], lr=2e-3)
for step in range(24):
    stripes = torch.rand(40, 1, 1) * 6 + 1
    x = torch.sin(stripes * torch.linspace(0, 3, SIDE))[:, 0, None, :].expand(-1, SIDE, -1)
    z = enc(x)
    index = book.nearest(z)
    entry = book.entries[index]  # <- AD226
    rebuilt = dec(entry)
    loss = (rebuilt - x).abs().mean() + 0.5 * (z - entry).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    book.follow(z.detach(), index)
    if step % 8 == 0:
        print(step, loss.item())
