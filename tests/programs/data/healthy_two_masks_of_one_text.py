# guards: AD716
"""One encoder over the same tokens under two attention masks (text only, text and table): two answers, two losses; the embedding
and first projections see equal tokens in tensors of their own."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
emb = nn.Embedding(20, 32)
norm = nn.LayerNorm(32)
att = nn.MultiheadAttention(32, 4, batch_first=True)
head = nn.Linear(32, 20)
parts = nn.ModuleList([emb, norm, att, head])
opt = torch.optim.Adam(parts.parameters(), 8e-3)
place = nn.Parameter(0.3 * torch.randn(10, 32))
opt.add_param_group({"params": [place]})


def encode(tokens, hidden):
    h = norm(emb(tokens.long()) + place)
    return head(h[:, 0] + att(h[:, :1], h, h, key_padding_mask=hidden)[0][:, 0])


for step in range(70):
    tokens = torch.randint(0, 20, (64, 10), dtype=torch.int32)
    left, right = torch.arange(10) >= 5, (torch.arange(10) < 5)
    loss = F.cross_entropy(encode(tokens, left.expand(64, -1)), tokens[:, 2].long()) \
        + F.cross_entropy(encode(tokens, right.expand(64, -1)), tokens[:, 7].long())
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 20 == 0 or step == 69: print(step, round(loss.item(), 3))
