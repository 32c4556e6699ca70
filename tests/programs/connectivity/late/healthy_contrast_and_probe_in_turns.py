# guards: AD227 AD104
"""MoCo with probing cycles: contrastive stage (key encoder follows by momentum at every step), then a linear probe
on the *key* encoder's features, a few times over; the last probe is the long one whose number we publish."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

CYCLES = [(24, 9), (24, 9), (24, 74)]


class Encoder(nn.Module):
    def __init__(self, d_in=40, d=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 80), nn.ReLU(), nn.Linear(80, d))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class MoCo:
    def __init__(self, m=0.95, queue=256, t=0.2):
        self.q, self.m, self.t = Encoder(), m, t
        self.k = copy.deepcopy(self.q).requires_grad_(False)
        self.queue = F.normalize(torch.randn(queue, 24), dim=1)
        self.opt = torch.optim.SGD(self.q.parameters(), lr=0.3, momentum=0.9, weight_decay=1e-4)

    def step(self, v1, v2):
        with torch.no_grad():
            for a, b in zip(self.k.parameters(), self.q.parameters()):
                a.mul_(self.m).add_(b, alpha=1 - self.m)
            key = self.k(v2)
        query = self.q(v1)
        logits = torch.cat([(query * key).sum(1, keepdim=True), query @ self.queue.T], 1) / self.t
        loss = F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long))
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.queue = torch.cat([self.queue[len(key):], key])
        return loss.item()


torch.manual_seed(8)
signal, nuisance = torch.randn(8, 40), torch.randn(12, 40)
centres = torch.randn(10, 8) * 1.2
label = torch.randint(0, 10, (1400,))
content = centres[label] + 0.4 * torch.randn(1400, 8)


def view(i):
    return content[i] @ signal + 2.2 * torch.randn(len(i), 12) @ nuisance + 0.2 * torch.randn(len(i), 40)


moco, n_train = MoCo(), 1000
test = torch.arange(n_train, 1400)
for cycle, (n_con, n_probe) in enumerate(CYCLES):
    for _ in range(n_con):
        i = torch.randint(0, n_train, (64,))
        con = moco.step(view(i), view(i))
    probe = nn.Linear(24, 10)
    popt = torch.optim.Adam(probe.parameters(), lr=2e-2)
    for _ in range(n_probe):
        i = torch.randint(0, n_train, (64,))
        with torch.no_grad():
            f = moco.k(view(i))
        pl = F.cross_entropy(probe(f), label[i])
        popt.zero_grad()
        pl.backward()
        popt.step()
    with torch.no_grad():
        acc = (probe(moco.k(view(test))).argmax(1) == label[test]).float().mean().item()
    print(f"cycle {cycle}: contrastive {con:.3f} after {n_con}, probe loss {pl.item():.3f} after {n_probe}, test acc {acc:.3f}")
