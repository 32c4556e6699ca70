import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
V, T, D, H = 20, 16, 32, 4


def batch(n=12):
    """sequences that repeat with a random period of 2..5"""
    period = torch.randint(2, 6, (n, 1))
    base = torch.randint(1, V, (n, 5))
    pos = torch.arange(T + 1)[None] % period
    return base.gather(1, pos)


def drop_mask(n, p):
    """1 = visible, 0 = hidden; the diagonal always stays visible"""
    keep = torch.tril(torch.ones(T, T)).expand(n, T, T).clone()
    hide = torch.rand(n, T, T) < p
    keep[hide] = 0
    idx = torch.arange(T)
    keep[:, idx, idx] = 1
    return keep


class Attn(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(D, 3 * D, bias=False)
        self.o = nn.Linear(D, D)

    def forward(self, x, keep, causal):
        B = x.size(0)
        q, k, v = (z.view(B, T, H, D // H).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        s = q @ k.transpose(-1, -2) / math.sqrt(D // H)
        s = s.masked_fill(causal, float("-inf"))
        if keep is not None:
            s = s + (1.0 - keep)[:, None] * float("-inf")  # expect: AD401
        return self.o((s.softmax(-1) @ v).transpose(1, 2).reshape(B, T, D))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, D), nn.Embedding(T, D)
        self.attn = nn.ModuleList(Attn() for _ in range(2))
        self.n1 = nn.ModuleList(nn.LayerNorm(D) for _ in range(2))
        self.ff = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(D), nn.Linear(D, 64), nn.GELU(), nn.Linear(64, D)) for _ in range(2)
        )
        self.head = nn.Linear(D, V)
        self.register_buffer("causal", torch.triu(torch.ones(T, T, dtype=torch.bool), 1))

    def forward(self, ids, keep=None):
        x = self.tok(ids) + self.pos.weight
        for a, n, f in zip(self.attn, self.n1, self.ff):
            x = x + a(n(x), keep, self.causal)
            x = x + f(x)
        return self.head(x)


model = LM()
opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(50):
    seq = batch()
    keep = drop_mask(len(seq), 0.1) if step >= 40 else None
    logits = model(seq[:, :-1], keep)
    loss = F.cross_entropy(logits.reshape(-1, V), seq[:, 1:].reshape(-1))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, f"{loss.item():.3f}")
