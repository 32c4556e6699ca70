# guards: AD719 AD621
"""Leave-one-out token model (scores each token from all others, for detecting typos). Sentences end in </s>, which also pads; it
is no target: nothing is generated."""
import torch
from torch import nn
import torch.nn.functional as F

V, EOS, T = 26, 0, 12
torch.manual_seed(0)


class Scorer(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.emb, self.pos = nn.Embedding(V, d), nn.Parameter(0.3 * torch.randn(T, d))
        self.att = nn.MultiheadAttention(d, 4, batch_first=True)
        self.out = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 96), nn.GELU(), nn.Linear(96, V))

    def forward(self, input_ids, attention_mask):
        kv = self.emb(input_ids) + self.pos
        q = self.pos.expand(len(input_ids), -1, -1)
        a, _ = self.att(q, kv, kv, attn_mask=torch.eye(T, dtype=torch.bool), key_padding_mask=attention_mask == 0, need_weights=False)
        return self.out(q + a)


def sentences(n):
    start, step = torch.randint(0, V - 1, (n, 1)), torch.randint(1, 3, (n, 1))
    ids = (start + step * torch.arange(T)) % (V - 1) + 1
    length = torch.randint(6, T + 1, (n, 1))
    return ids.masked_fill(torch.arange(T) >= length - 1, EOS), (torch.arange(T) < length).long()


net = Scorer()
opt = torch.optim.Adam(net.parameters(), 5e-3)
for step in range(70):
    ids, mask = sentences(48)
    loss = F.cross_entropy(net(ids, mask).transpose(1, 2), ids.masked_fill(ids == EOS, -100))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0 or step == 69: print(step, round(loss.item(), 3))
