# guards: AD216 AD220
"""Virtual adversarial training: clean predictions are detached inside the KL, the perturbation direction comes from power iteration."""
import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F


@contextlib.contextmanager
def frozen(model):
    for p in model.parameters():
        p.requires_grad_(False)
    yield
    for p in model.parameters():
        p.requires_grad_(True)


def unit(d):
    return d / (d.flatten(1).norm(dim=1, keepdim=True) + 1e-8)


class VATLoss(nn.Module):
    def __init__(self, xi=1e-1, eps=0.8, ip=1):
        super().__init__()
        self.xi, self.eps, self.ip = xi, eps, ip

    def forward(self, model, x):
        with torch.no_grad():
            pred = F.softmax(model(x), dim=1)
        d = unit(torch.randn_like(x))
        with frozen(model):
            for _ in range(self.ip):
                d.requires_grad_()
                adv = F.kl_div(F.log_softmax(model(x + self.xi * d), 1), pred, reduction="batchmean")
                adv.backward()
                d = unit(d.grad)
        return F.kl_div(F.log_softmax(model(x + self.eps * d), 1), pred, reduction="batchmean")


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 2))
vat = VATLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
xl = torch.randn(24, 5)
yl = (xl[:, 0] > 0).long()
for step in range(30):
    xu = torch.randn(96, 5)
    lds = vat(model, xu)
    ce = F.cross_entropy(model(xl), yl)
    loss = ce + 0.5 * lds
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step + 1, "ce %.4f lds %.4f" % (ce.item(), lds.item()))
