"""CycleGAN-like; `zero_grad` between the discriminators throws the first one's gradients away."""

import itertools
import torch
from torch import nn


def net(i, o):
    return nn.Sequential(nn.Linear(i, 20), nn.Tanh(), nn.Linear(20, o))


class Cycle:
    def __init__(self):
        self.ab, self.ba = net(4, 4), net(4, 4)
        self.da, self.db = net(4, 1), net(4, 1)
        self.opt_g = torch.optim.Adam(itertools.chain(self.ab.parameters(), self.ba.parameters()), lr=2e-3)
        self.opt_d = torch.optim.Adam(itertools.chain(self.da.parameters(), self.db.parameters()), lr=2e-3)
        self.gan, self.l1 = nn.MSELoss(), nn.L1Loss()

    def freeze(self, nets, on):
        for n in nets:
            for p in n.parameters():
                p.requires_grad = not on

    def generators(self, a, b):
        self.freeze((self.da, self.db), True)
        self.opt_g.zero_grad()
        fb, fa = self.ab(a), self.ba(b)
        pred_b, pred_a = self.db(fb), self.da(fa)
        adv = self.gan(pred_b, torch.ones_like(pred_b)) + self.gan(pred_a, torch.ones_like(pred_a))
        cyc = self.l1(self.ba(fb), a) + self.l1(self.ab(fa), b)
        (adv + 10 * cyc).backward()
        self.opt_g.step()
        return fa, fb

    def one_d(self, d, real, fake):
        pr, pf = d(real), d(fake.detach())
        loss = 0.5 * (self.gan(pr, torch.ones_like(pr)) + self.gan(pf, torch.zeros_like(pf)))
        loss.backward()
        return loss

    def discriminators(self, a, b, fa, fb):
        self.freeze((self.da, self.db), False)
        self.opt_d.zero_grad()
        la = self.one_d(self.da, a, fa)
        self.opt_d.zero_grad()  # expect: AD102
        lb = self.one_d(self.db, b, fb)
        self.opt_d.step()
        return la.item() + lb.item()


torch.manual_seed(0)
c = Cycle()
for epoch in range(8):
    a, b = torch.randn(16, 4), torch.randn(16, 4) * 2 + 1
    fakes = c.generators(a, b)
    print(epoch, c.discriminators(a, b, *fakes))
