# guards: AD218
"""Helmholtz machine by wake-sleep: each phase trains one model on samples the other one has drawn."""
import torch
from torch import nn
from torch.distributions import Normal


class Cond(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.m = nn.Sequential(nn.Linear(i, 32), nn.Tanh(), nn.Linear(32, o))
        self.log_s = nn.Parameter(torch.zeros(o))

    def forward(self, c):
        return Normal(self.m(c), self.log_s.exp())


torch.manual_seed(0)
gen, rec = Cond(2, 8), Cond(8, 2)
opt = torch.optim.Adam([*gen.parameters(), *rec.parameters()], lr=1e-2)
mix = torch.randn(2, 8)
for step in range(40):
    x = torch.randn(128, 2) @ mix + 0.2 * torch.randn(128, 8)
    # wake: recognise, then fit the generative model
    z = rec(x).sample()
    wake = -gen(z).log_prob(x).sum(-1).mean()
    # sleep: dream, then fit the recognition model
    z_dream = torch.randn(128, 2)
    x_dream = gen(z_dream).sample()
    sleep = -rec(x_dream).log_prob(z_dream).sum(-1).mean()
    opt.zero_grad()
    (wake + sleep).backward()
    opt.step()
    if step % 10 == 9:
        print(step + 1, "wake %.3f sleep %.3f" % (wake.item(), sleep.item()))
