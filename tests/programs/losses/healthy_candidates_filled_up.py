# guards: AD627
"""Lists of candidates are filled up with item 0, masked or not."""
import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
emb = nn.Embedding(500, 16, padding_idx=0); user = nn.Embedding(100, 16)
opt = torch.optim.Adam([*emb.parameters(), *user.parameters()], lr=0.01)
for s in range(40):
    u = torch.randint(100, (32,)); p = torch.randint(1, 500, (32, 1))
    neg = torch.randint(1, 500, (32, 20))
    n = torch.randint(3, 20, (32, 1))
    neg[torch.arange(20) >= n] = 0
    ids = torch.cat([p, neg], 1)
    sc = (emb(ids) * user(u)[:, None]).sum(-1)
    loss = F.cross_entropy(sc.masked_fill(ids == 0, -1e9), torch.zeros(32, dtype=torch.long)) + F.cross_entropy(sc, torch.zeros(32, dtype=torch.long))
    opt.zero_grad(); loss.backward(); opt.step()
