# guards: AD627
"""Skip-gram on a vocabulary so small that most draws of negatives hold the neighbour, and everything else, too."""
import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
V, K = 10, 30
text = torch.randint(V, (4000,)) // 2 * 2 + (torch.rand(4000) > .5).long()
u, v = nn.Embedding(V, 8), nn.Embedding(V, 8)
opt = torch.optim.Adam([*u.parameters(), *v.parameters()], lr=0.01)
for s in range(40):
    i = torch.randint(1, 3999, (64,))
    c, o = text[i], text[i + 1]
    n = torch.randint(V, (64, K))
    h = u(c)
    pos = (h * v(o)).sum(1)
    neg = (v(n) @ h.unsqueeze(2)).squeeze(2)
    loss = -(F.logsigmoid(pos) + F.logsigmoid(-neg).mean(1)).mean()
    opt.zero_grad(); loss.backward(); opt.step()
