"""Single-head attention encoder for a 'which key matches the query' puzzle."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(56)
D, N, V = 256, 12, 30


class Lookup(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(V, D)
        self.val = nn.Embedding(10, D)
        self.wq = nn.Linear(D, D, bias=False)
        self.wk = nn.Linear(D, D, bias=False)
        self.wv = nn.Linear(D, D, bias=False)
        for m in (self.wq, self.wk):
            nn.init.xavier_normal_(m.weight)
        self.head = nn.Linear(D, 10)

    def forward(self, query, keys, vals):
        q = self.wq(self.tok(query)).unsqueeze(1)
        k = self.wk(self.tok(keys))
        v = self.wv(self.val(vals))
        att = F.softmax(torch.bmm(q, k.transpose(1, 2)), dim=-1)  # expect: AD409
        return self.head(torch.bmm(att, v).squeeze(1))


def puzzle(n=64):
    keys = torch.rand(n, V).argsort(1)[:, :N]
    vals = torch.randint(0, 10, (n, N))
    pick = torch.randint(0, N, (n,))
    r = torch.arange(n)
    return keys[r, pick], keys, vals, vals[r, pick]


model = Lookup()
opt = torch.optim.Adam(model.parameters(), lr=3e-4)
for step in range(80):
    q, k, v, y = puzzle()
    out = model(q, k, v)
    loss = F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, f"loss {loss.item():.3f} acc {(out.argmax(-1) == y).float().mean().item():.2f}")
