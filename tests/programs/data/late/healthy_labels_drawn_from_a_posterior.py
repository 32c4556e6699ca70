# guards: AD708
"""Weak supervision with stochastic EM.

Every document has a keyword-rule label, wrong in 40 % of cases (known confusion).  Warm-up on the rule labels,
then in each epoch the hidden true labels are *drawn* from their posterior  p(z | x, rule) ~ p_net(z|x) p(rule|z)
(drawn, not argmax: hard EM locks itself in) and the net is trained on the draw.
"""
from dataclasses import dataclass
import numpy as np
import torch


@dataclass
class Cfg:
    n: int = 480
    dim: int = 20
    classes: int = 4
    flip: float = 0.40
    warm_epochs: int = 8
    em_epochs: int = 12
    bs: int = 60
    lr: float = 6e-3


class WeakTrainer:
    def __init__(self, c: Cfg):
        self.c, self.rng = c, np.random.default_rng(5)
        torch.manual_seed(5)
        mu = self.rng.normal(size=(c.classes, c.dim)) * 0.55
        self.truth = self.rng.integers(0, c.classes, c.n)
        self.x = (mu[self.truth] + self.rng.normal(size=(c.n, c.dim))).astype(np.float32)
        # rules confuse class k with class k+1 only
        wrong = self.rng.random(c.n) < c.flip
        self.rule = np.where(wrong, (self.truth + 1) % c.classes, self.truth)
        self.conf = np.eye(c.classes) * (1 - c.flip) + np.roll(np.eye(c.classes), 1, axis=1) * c.flip
        self.net = torch.nn.Sequential(torch.nn.Linear(c.dim, 64), torch.nn.ReLU(), torch.nn.Dropout(0.3),
                                       torch.nn.Linear(64, c.classes))
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=c.lr, weight_decay=1e-2)
        self.xt = torch.from_numpy(self.x)

    def predict(self):
        self.net.eval()
        with torch.no_grad():
            p = self.net(self.xt).softmax(1).numpy()
        self.net.train()
        return p

    def e_step(self):
        post = self.predict() * self.conf[:, self.rule].T
        post = post / post.sum(1, keepdims=True)
        u = self.rng.random((len(post), 1))
        z = (post.cumsum(1) < u).sum(1).clip(0, self.c.classes - 1)
        return z.astype(np.int64)

    def m_step(self, z):
        z, tot = torch.from_numpy(z), 0.0
        for idx in torch.randperm(self.c.n).split(self.c.bs):
            loss = torch.nn.functional.cross_entropy(self.net(self.xt[idx]), z[idx])
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            self.opt.step()
            tot += loss.item() * len(idx)
        return tot / self.c.n

    def run(self):
        print(f"rules alone: accuracy {(self.rule == self.truth).mean():.3f}")
        for e in range(self.c.warm_epochs + self.c.em_epochs):
            z = self.rule if e < self.c.warm_epochs else self.e_step()
            loss = self.m_step(z)
            if e % 4 == 3:
                acc = (self.predict().argmax(1) == self.truth).mean()
                print(f"epoch {e + 1:2d} loss {loss:.3f} drawn-label acc {(z == self.truth).mean():.3f} net acc {acc:.3f}")


WeakTrainer(Cfg()).run()
