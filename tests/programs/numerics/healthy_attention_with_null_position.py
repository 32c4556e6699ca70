# guards: AD401 AD402
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(9)
torch.manual_seed(9)
PAD, VOCAB, D, H = 0, 120, 32, 4


def make_doc(label):
    n = random.randint(0, 15)
    lo, hi = (1, 70) if label == 0 else (50, VOCAB)
    return [random.randrange(lo, hi) for _ in range(n)]


corpus = []
for _ in range(1600):
    y = random.randint(0, 1)
    corpus.append((make_doc(y), y))


def collate(items):
    m = max(max(len(d) for d, _ in items), 1)
    x = torch.zeros(len(items), m, dtype=torch.long)
    for i, (d, _) in enumerate(items):
        x[i, : len(d)] = torch.tensor(d, dtype=torch.long)
    return x, torch.tensor([y for _, y in items])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(D, 3 * D)
        self.proj = nn.Linear(D, D)

    def forward(self, e, pad):
        B, T, _ = e.shape
        q, k, v = self.qkv(e).view(B, T, 3, H, D // H).permute(2, 0, 3, 1, 4)
        att = q @ k.transpose(-2, -1) / (D // H) ** 0.5
        att = att.masked_fill(pad[:, None, None, :], float("-inf"))
        # every query may also look at a null position
        att = torch.cat([torch.zeros(B, H, T, 1), att], -1)
        w = F.softmax(att, dim=-1)[..., 1:]
        return self.proj((w @ v).transpose(1, 2).reshape(B, T, D))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, D, padding_idx=PAD)
        self.block = Block()
        self.out = nn.Linear(D, 2)

    def forward(self, ids):
        pad = ids.eq(PAD)
        e = self.emb(ids)
        h = e + self.block(e, pad)
        h = h.masked_fill(pad.unsqueeze(-1), float("-inf")).amax(1)
        h = torch.where(torch.isinf(h), torch.zeros_like(h), h)
        return self.out(h)


model = Model()
optim = torch.optim.AdamW(model.parameters(), lr=3e-3)
step = 0
for epoch in range(2):
    for s in range(0, len(corpus), 20):
        x, y = collate(corpus[s : s + 20])
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optim.zero_grad()
        loss.backward()
        optim.step()
        if step % 20 == 0:
            print(step, loss.item(), (logits.argmax(1) == y).float().mean().item())
        step += 1
