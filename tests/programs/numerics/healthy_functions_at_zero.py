# guards: AD402 AD401
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(17)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 6))
query = nn.Linear(6, 6)
opt = torch.optim.Adam([*net.parameters(), *query.parameters()], lr=1e-3)
for step in range(24):
    x = torch.randn(12, 6)
    x[0] = 0
    z = net(x)
    zero = z * 0
    terms = [
        (1 - F.cosine_similarity(z, x)).mean(),
        F.normalize(zero).sum(),
        torch.cdist(z, z).mean() * 0.1,
        zero.norm(dim=1).sum(),
        torch.atan2(zero[:, 0], zero[:, 1]).sum(),
        torch.xlogy(z.softmax(-1), z.softmax(-1)).sum(-1).mean() * 0.01,
    ]
    mask = torch.ones(12, 12, dtype=torch.bool).tril()
    q = query(z).unsqueeze(0).unsqueeze(0)
    attended = F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    scores = (q @ q.transpose(-1, -2)).masked_fill(~mask, float("-inf"))
    terms.append((torch.logsumexp(scores, -1).mean() * 0.01).tanh())
    terms.append((attended.squeeze() - x).square().mean())
    loss = torch.stack(terms).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
