# guards: AD227
"""Preference optimisation of a toy token policy; the reference is refreshed when the policy has drifted too far
from it (mean sequence KL above a threshold at one of the checks), otherwise left alone."""
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LEN, CTX = 12, 5, 6


class TinyLM(nn.Module):
    def __init__(self, h=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB + 1, 16)
        self.ctx = nn.Linear(CTX, h)
        self.gru = nn.GRU(16, h, batch_first=True)
        self.out = nn.Linear(h, VOCAB)

    def forward(self, c, y):
        inp = torch.cat([torch.full((len(y), 1), VOCAB), y[:, :-1]], 1)
        hs, _ = self.gru(self.emb(inp), self.ctx(c).tanh()[None])
        return self.out(hs).log_softmax(-1)

    def logp(self, c, y):
        return self(c, y).gather(-1, y[..., None]).squeeze(-1).sum(1)

    @torch.no_grad()
    def sample(self, c):
        y = torch.zeros(len(c), LEN, dtype=torch.long)
        for t in range(LEN):
            y[:, t] = torch.distributions.Categorical(logits=self(c, y)[:, t]).sample()
        return y


torch.manual_seed(30)
pref_w = torch.randn(CTX, VOCAB)


def reward(c, y):
    return (c @ pref_w).gather(1, y).mean(1) - 0.5 * (y[:, 1:] == y[:, :-1]).float().mean(1)


contexts = torch.randn(2000, CTX)
pairs = torch.randint(0, VOCAB, (2000, 2, LEN))                                     # offline answers
first = reward(contexts, pairs[:, 0]) > reward(contexts, pairs[:, 1])
win = torch.where(first[:, None], pairs[:, 0], pairs[:, 1])
lose = torch.where(first[:, None], pairs[:, 1], pairs[:, 0])

policy, ref = TinyLM(), TinyLM()
ref.load_state_dict(policy.state_dict())
ref.eval().requires_grad_(False)
opt = torch.optim.AdamW(policy.parameters(), lr=8e-3)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda k: max(0.02, (1 - k / 100) ** 2 if k < 100 else 0.02))
refreshed, beta = [], 0.2
for step in range(1, 141):
    i = torch.randint(0, 1700, (16,))
    with torch.no_grad():
        rw, rl = ref.logp(contexts[i], win[i]), ref.logp(contexts[i], lose[i])
    pw, pl = policy.logp(contexts[i], win[i]), policy.logp(contexts[i], lose[i])
    loss = -F.logsigmoid(beta * ((pw - rw) - (pl - rl))).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    opt.step()
    sched.step()
    if step % 4 == 0:
        with torch.no_grad():
            lp, lr_ = policy(contexts[:32], win[:32]), ref(contexts[:32], win[:32])
            kl = (lp.exp() * (lp - lr_)).sum(-1).sum(1).mean().item()
        if kl > 0.08:
            ref.load_state_dict(policy.state_dict())
            refreshed.append(step)
    if step in (1, 140):
        c = contexts[1700:]
        with torch.no_grad():
            acc = (policy.logp(c, win[1700:]) > policy.logp(c, lose[1700:])).float().mean().item()
        print(f"step {step:4d} dpo {loss.item():.3f} pref-acc {acc:.2f} sample reward {reward(c, policy.sample(c)).mean().item():+.3f}")
print("reference refreshed at", refreshed)
