# guards: AD219
"""Adaptive computation time: ponder cost enters the loss only after a warm-up; halting statistics kept for the log at every 20th step."""
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
class ACT(nn.Module):
    def __init__(self, d=32, max_steps=5):
        super().__init__()
        self.inp, self.cell, self.halt, self.out = nn.Linear(8, d), nn.GRUCell(d, d), nn.Linear(d, 1), nn.Linear(d, 2)
        self.max_steps = max_steps
    def forward(self, x):
        e = self.inp(x); h = torch.zeros_like(e)
        cum, acc, n = x.new_zeros(len(x)), 0.0, x.new_zeros(len(x))
        left = x.new_ones(len(x)); running = torch.ones(len(x), dtype=torch.bool); remainder = x.new_zeros(len(x))
        for t in range(self.max_steps):
            h = self.cell(e, h)
            p = torch.sigmoid(self.halt(h)).squeeze(1)
            stop = running & ((cum + p > 0.99) | (t == self.max_steps - 1))
            w = torch.where(stop, left, torch.where(running, p, torch.zeros_like(p)))
            acc = acc + w.unsqueeze(1) * h
            n = n + running.float()
            cum, left = cum + p * running, left - w
            remainder = torch.where(stop, w, remainder)
            running = running & ~stop
            if not running.any(): break
        self.ponder = (n + remainder).mean()
        self.mean_halt = torch.sigmoid(self.halt(h)).mean()
        return self.out(acc)
net = ACT(); opt = torch.optim.Adam(net.parameters(), 1e-2)
for step in range(80):
    x = torch.randn(128, 8).sign()
    y = (x[:, 0] * x[:, 1] > 0).long()
    ce = F.cross_entropy(net(x), y)
    loss = ce
    if step >= 40: loss = loss + 0.01 * net.ponder
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 20 == 0 or step == 79: print(step, f"ce {ce.item():.3f} ponder {net.ponder.item():.2f} halt {net.mean_halt.item():.2f}")
