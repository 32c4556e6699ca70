import random
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(8)
torch.manual_seed(8)
PAD, VOCAB, D = 0, 120, 32


def make_doc(label):
    n = random.randint(3, 15)
    lo, hi = (1, 70) if label == 0 else (50, VOCAB)
    return [random.randrange(lo, hi) for _ in range(n)]


corpus = []
for _ in range(700):
    y = random.randint(0, 1)
    corpus.append((make_doc(y), y))
corpus[655] = ([], 0)


def collate(items):
    m = max(max(len(d) for d, _ in items), 1)
    x = torch.zeros(len(items), m, dtype=torch.long)
    for i, (d, _) in enumerate(items):
        x[i, : len(d)] = torch.tensor(d, dtype=torch.long)
    return x, torch.tensor([y for _, y in items])


class AttnPool(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, D, padding_idx=PAD)
        self.q = nn.Linear(D, D)
        self.k = nn.Linear(D, D)
        self.v = nn.Linear(D, D)
        self.out = nn.Linear(D, 2)

    def forward(self, ids):
        pad = ids.eq(PAD)
        e = self.emb(ids)
        att = self.q(e) @ self.k(e).transpose(1, 2) / D**0.5
        att = att.masked_fill(pad[:, None, :], float("-inf"))
        w = F.softmax(att, dim=-1)  # expect: AD401
        h = e + w @ self.v(e)
        keep = (~pad).float().unsqueeze(-1)
        h = (h * keep).sum(1) / keep.sum(1).clamp(min=1)
        return self.out(h)


model = AttnPool()
optim = torch.optim.AdamW(model.parameters(), lr=3e-3)
step = 0
for epoch in range(2):
    for s in range(0, len(corpus), 10):
        x, y = collate(corpus[s : s + 10])
        loss = F.cross_entropy(model(x), y)
        optim.zero_grad()
        loss.backward()
        optim.step()
        if step % 20 == 0:
            print(step, loss.item())
        step += 1
