# guards: AD401 AD402
"""Gradient-trained left-to-right HMM."""

import torch
import torch.nn as nn

torch.manual_seed(18)
S, O = 4, 9


def lse(x, dim):
    m = x.max(dim=dim, keepdim=True).values
    m = torch.where(torch.isinf(m), torch.zeros_like(m), m).detach()
    s = (x - m).exp().sum(dim=dim, keepdim=True)
    ok = s > 0
    out = torch.where(ok, s, torch.ones_like(s)).log() + m
    return torch.where(ok, out, torch.full_like(out, float("-inf"))).squeeze(dim)


class HMM(nn.Module):
    def __init__(self):
        super().__init__()
        self.trans = nn.Parameter(torch.randn(S, S) * 0.1)
        self.emit = nn.Parameter(torch.randn(S, O) * 0.1)
        allowed = torch.eye(S) + torch.diag(torch.ones(S - 1), 1)
        self.register_buffer("tmask", torch.where(allowed > 0, 0.0, float("-inf")))

    def log_likelihood(self, obs):
        logt = torch.log_softmax(self.trans + self.tmask, -1)
        loge = torch.log_softmax(self.emit, -1)
        alpha = torch.full((obs.size(0), S), float("-inf"))
        alpha[:, 0] = 0.0
        alpha = alpha + loge[:, obs[:, 0]].t()
        for t in range(1, obs.size(1)):
            alpha = lse(alpha[:, :, None] + logt[None], 1) + loge[:, obs[:, t]].t()
        return lse(alpha, 1)


def sample(n, length=12):
    state = torch.zeros(n, dtype=torch.long)
    out = []
    for _ in range(length):
        out.append(2 * state + torch.multinomial(torch.tensor([0.5, 0.3, 0.2]), n, replacement=True))
        state = (state + (torch.rand(n) < 0.25)).clamp(max=S - 1)
    return torch.stack(out, 1)


data = sample(3840)
hmm = HMM()
opt = torch.optim.Adam(hmm.parameters(), lr=0.05)
for step in range(120):
    batch = data[step * 32 : (step + 1) * 32]
    loss = -hmm.log_likelihood(batch).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, f"{loss.item():.4f}")
