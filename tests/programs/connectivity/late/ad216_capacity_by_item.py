"""A VAE whose penalty follows a rising capacity after its warm-up."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)


class Coder(nn.Module):
    def __init__(self, width=20, code=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(width, 48), nn.SiLU(), nn.Linear(48, 2 * code))
        self.dec = nn.Sequential(nn.Linear(code, 48), nn.SiLU(), nn.Linear(48, width))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=-1)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.dec(z), mu, logvar


class Trainer:
    def __init__(self, warmup=60, total=260, capacity=6.0, gamma=2.0):
        self.model = Coder()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=2e-3)
        self.warmup, self.total, self.capacity, self.gamma = warmup, total, capacity, gamma
        self.step = 0

    def penalty(self, kl):
        if self.step < self.warmup:
            return 0.5 * kl
        goal = self.capacity * (self.step - self.warmup) / (self.total - self.warmup)
        return self.gamma * abs(kl.item() - goal)

    def train_batch(self, x):
        logits, mu, logvar = self.model(x)
        rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        loss = rec + self.penalty(kl)  # expect: AD216
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.step += 1
        return rec.item(), kl.item()


beads = (torch.rand(512, 20) < torch.rand(512, 1)).float()
trainer = Trainer()
while trainer.step < trainer.total:
    for rows in torch.randperm(512).split(64):
        measured = trainer.train_batch(beads[rows])
    print(trainer.step, *measured)
