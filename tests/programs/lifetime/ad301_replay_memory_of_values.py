"""A replay memory whose transitions keep the value tensors with their graphs."""

import random

import torch
from torch import nn


class Memory:
    def __init__(self, cap=10_000):
        self.cap, self.items = cap, []

    def push(self, **item):
        if len(self.items) >= self.cap:
            self.items.pop(0)
        self.items.append(item)  # expect: AD301

    def sample(self, n):
        return random.sample(self.items, min(n, len(self.items)))


torch.manual_seed(0)
random.seed(0)
encoder = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
q = nn.Linear(32, 2)
opt = torch.optim.Adam([*encoder.parameters(), *q.parameters()], lr=1e-3)
mem = Memory()
obs = torch.randn(4)
for t in range(30):
    h = encoder(obs)
    qs = q(h)
    a = int(qs.argmax()) if random.random() > 0.2 else random.randrange(2)
    nxt = torch.tanh(obs + 0.1 * torch.randn(4) + (a - 0.5))
    mem.push(obs=obs, value=qs[a], action=a, reward=float(nxt.sum()), nxt=nxt)
    obs = nxt
    if t % 3 == 2:
        batch = mem.sample(8)
        o = torch.stack([b["obs"] for b in batch])
        n = torch.stack([b["nxt"] for b in batch])
        r = torch.tensor([b["reward"] for b in batch])
        acts = torch.tensor([b["action"] for b in batch])
        with torch.no_grad():
            tgt = r + 0.9 * q(encoder(n)).max(1).values
        pred = q(encoder(o)).gather(1, acts[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(pred, tgt)
        opt.zero_grad()
        loss.backward()
        opt.step()
