# guards: AD226
"""Product quantisation with the rotation trick (Fifty et al. 2024) for the gradient through the codebooks."""
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)

def rotate_to(e, q):
    """(e, q) -> q in the forward pass; backward through a fixed rotation and rescaling that takes e onto q."""
    ne, nq = e.norm(dim=-1, keepdim=True).clamp_min(1e-6), q.norm(dim=-1, keepdim=True).clamp_min(1e-6)
    u, v = (e / ne).detach(), (q / nq).detach()
    r = F.normalize(u + v, dim=-1, eps=1e-6)
    scale = (nq / ne).detach()
    out = e - 2 * (e * r).sum(-1, keepdim=True) * r + 2 * (e * u).sum(-1, keepdim=True) * v
    return out * scale

class PQ(nn.Module):
    def __init__(self, groups, k, d):
        super().__init__()
        self.books = nn.Parameter(torch.randn(groups, k, d // groups) * 0.5)
    def forward(self, z):
        g, k, d = self.books.shape
        parts = z.view(-1, g, d)
        dist = torch.cdist(parts.transpose(0, 1), self.books)       # g,n,k
        idx = dist.argmin(-1)
        q = torch.stack([b[i] for b, i in zip(self.books, idx)], 1)
        loss = F.mse_loss(q, parts.detach()) + 0.25 * F.mse_loss(parts, q.detach())
        return rotate_to(parts, q).reshape(z.shape), loss

enc = nn.Sequential(nn.Linear(20, 48), nn.GELU(), nn.Linear(48, 12))
dec = nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 20))
pq = PQ(4, 16, 12)
basis = torch.randn(5, 20)
opt = torch.optim.AdamW([*enc.parameters(), *dec.parameters(), *pq.parameters()], lr=6e-3)
for step in range(70):
    x = torch.tanh(torch.randn(128, 5) @ basis)
    zq, vq = pq(enc(x))
    rec = F.mse_loss(dec(zq), x)
    opt.zero_grad(); (rec + vq).backward(); opt.step()
    if step % 20 == 0 or step == 69: print(step, f"{rec.item():.4f} {vq.item():.4f}")
