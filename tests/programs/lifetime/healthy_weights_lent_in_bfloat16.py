# guards: AD310 AD111
"""Training through low-precision weights; full-precision values are kept on the side."""
import torch
from torch import nn
from torch.nn import functional as F


class LowPrecision:
    def __init__(self, module, dtype=torch.bfloat16):
        self.params = [p for p in module.parameters() if p.dim() > 1]
        self.full = [p.detach().clone() for p in self.params]
        self.dtype = dtype

    @torch.no_grad()
    def lower(self):
        for p, f in zip(self.params, self.full):
            f.copy_(p)
            p.copy_(p.to(self.dtype))

    @torch.no_grad()
    def restore(self):
        for p, f in zip(self.params, self.full):
            p.copy_(f)


def spirals(n, g):
    t = torch.rand(n, generator=g) * 3 + 0.3
    y = torch.randint(0, 2, (n,), generator=g)
    a = t * 2 + y * 3.1416
    x = torch.stack([t * a.cos(), t * a.sin()], 1) + 0.05 * torch.randn(n, 2, generator=g)
    return x, y


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(0)
    x, y = spirals(1500, g)
    net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    lp = LowPrecision(net)
    for epoch in range(30):
        for idx in torch.randperm(len(y)).split(150):
            lp.lower()
            loss = F.cross_entropy(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            lp.restore()
            opt.step()
        if epoch % 6 == 5:
            lp.lower()
            acc = (net(x).argmax(1) == y).float().mean()
            lp.restore()
            print(epoch, f"{loss.item():.4f}", f"acc {acc:.3f}")


main()
