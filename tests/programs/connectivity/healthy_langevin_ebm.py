# guards: AD220 AD221
"""Energy-based model: negatives from Langevin dynamics on a leaf, energies of positives and negatives subtracted and regularised."""
import torch
from torch import nn


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def langevin(energy, x, steps=8, size=0.1):
    for p in energy.parameters():
        p.requires_grad_(False)
    x = x.detach().requires_grad_(True)
    for _ in range(steps):
        energy(x).sum().backward()
        with torch.no_grad():
            x.add_(x.grad, alpha=-size).add_(0.1 * torch.randn_like(x))
        x.grad = None
    for p in energy.parameters():
        p.requires_grad_(True)
    return x.detach()


torch.manual_seed(0)
energy = Energy()
opt = torch.optim.Adam(energy.parameters(), lr=2e-3, betas=(0.0, 0.99))
buffer = torch.randn(256, 2)
for step in range(25):
    t = 6.28 * torch.rand(64)
    pos = torch.stack([t.cos(), t.sin()], 1) + 0.05 * torch.randn(64, 2)
    idx = torch.randint(0, 256, (64,))
    neg = langevin(energy, buffer[idx])
    buffer[idx] = neg
    e_pos, e_neg = energy(pos), energy(neg)
    loss = e_pos.mean() - e_neg.mean() + 0.1 * (e_pos ** 2 + e_neg ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, loss.item(), neg.norm(dim=1).mean().item())
