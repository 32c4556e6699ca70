"""Capsule-like layer: short vectors per class, length = probability."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(22)


class Caps(nn.Module):
    def __init__(self, n_in, n_class, dim):
        super().__init__()
        self.n_class, self.dim = n_class, dim
        self.enc = nn.Linear(n_in, 64)
        self.caps = nn.Linear(64, n_class * dim, bias=False)

    def forward(self, x):
        h = F.relu(self.enc(x))
        u = self.caps(h).view(-1, self.n_class, self.dim)
        length = u.pow(2).sum(-1, keepdim=True).sqrt().clamp(min=1e-6)  # expect: AD402
        sq = length**2
        return (sq / (1 + sq)) * (u / length)


def margin_loss(v, y):
    n = (v * v).sum(-1)
    t = F.one_hot(y, n.size(1)).float()
    return (t * F.relu(0.8 - n) ** 2 + 0.5 * (1 - t) * F.relu(n - 0.01) ** 2).sum(1).mean()


def get_batch(i):
    y = torch.randint(0, 4, (40,))
    x = F.one_hot(y, 12).float() * 2 + 0.4 * torch.rand(40, 12)
    if i % 60 == 59:
        x[-1] = -3.0
    return x, y


net = Caps(12, 4, 6)
with torch.no_grad():
    net.enc.weight.abs_()
    net.enc.bias.zero_()
opt = torch.optim.SGD(net.parameters(), lr=0.2)
for i in range(75):
    x, y = get_batch(i)
    v = net(x)
    loss = margin_loss(v, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 15 == 0:
        acc = (v.norm(dim=-1).argmax(1) == y).float().mean()
        print(i, f"{loss.item():.4f} {acc:.2f}")
