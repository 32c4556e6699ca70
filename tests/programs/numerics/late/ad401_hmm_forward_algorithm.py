"""Gradient-trained HMM tagger (forward algorithm in log space)."""

import torch
import torch.nn as nn

torch.manual_seed(17)
S, O = 4, 10
NEG = float("-inf")


def lse(x, dim):
    m = x.max(dim=dim, keepdim=True).values
    return (m + (x - m).exp().sum(dim=dim, keepdim=True).log()).squeeze(dim)  # expect: AD401


class HMM(nn.Module):
    """any state may follow any other; each state owns a set of symbols"""

    def __init__(self):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(S))
        self.trans = nn.Parameter(torch.randn(S, S) * 0.1)
        self.emit = nn.Parameter(torch.randn(S, O) * 0.1)
        own = torch.zeros(S, O, dtype=torch.bool)
        for s in range(S):
            own[s, 2 * s : 2 * s + 3] = True
        self.register_buffer("own", own)

    def log_likelihood(self, obs):
        logt = torch.log_softmax(self.trans, -1)
        loge = torch.log_softmax(self.emit, -1).masked_fill(~self.own, NEG)
        alpha = torch.log_softmax(self.start, 0) + loge[:, obs[:, 0]].t()
        for t in range(1, obs.size(1)):
            alpha = lse(alpha[:, :, None] + logt[None], 1) + loge[:, obs[:, t]].t()
        return lse(alpha, 1)


def sample(n, length=8):
    state = torch.randint(0, S, (n,))
    out = []
    for _ in range(length):
        out.append(2 * state + torch.multinomial(torch.tensor([0.5, 0.3, 0.2]), n, replacement=True))
        state = torch.where(torch.rand(n) < 0.4, (state + 1) % S, state)
    return torch.stack(out, 1)


data = sample(2560)
data[2000, 5] = 9  # <unk>
hmm = HMM()
opt = torch.optim.Adam(hmm.parameters(), lr=0.05)
for step in range(80):
    batch = data[step * 32 : (step + 1) * 32]
    loss = -hmm.log_likelihood(batch).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, f"{loss.item():.4f}")
