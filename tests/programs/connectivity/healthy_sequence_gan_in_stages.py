# guards: AD202 AD104 AD109
"""Generator pretrained by supervision (SRGAN-like), then critic pretrained on its fakes, then both, with the same two optimizers; G refreshed by distillation."""
import itertools, torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4 + 4, 64), nn.ReLU(), nn.Linear(64, 16))
D = nn.Sequential(nn.Linear(16 + 4, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
A = torch.randn(4, 16) * 0.7
def pairs(n=64):
    lo = torch.randn(n, 4)
    return lo, torch.tanh(lo @ A) + 0.3 * torch.randn(n, 1)
def gen(lo): return G(torch.cat([lo, torch.randn(len(lo), 4)], 1))
g_pre = torch.optim.Adam(G.parameters(), 2e-3)
for i in range(150):
    lo, hi = pairs(); loss = F.l1_loss(gen(lo), hi); g_pre.zero_grad(); loss.backward(); g_pre.step()
print("pretrained G", loss.item())
d_opt = torch.optim.Adam(itertools.chain(D.parameters()), 1e-3, betas=(0.5, 0.99))
gan = torch.optim.Adam(G.parameters(), 2e-4, betas=(0.5, 0.99))
for i in range(300):
    lo, hi = pairs()
    sr = gen(lo)
    ld = F.softplus(D(torch.cat([sr.detach(), lo], 1))).mean() + F.softplus(-D(torch.cat([hi, lo], 1))).mean()
    d_opt.zero_grad(); ld.backward(); d_opt.step()
    if i >= 80:
        lg = F.l1_loss(sr, hi) + 0.02 * F.softplus(-D(torch.cat([sr, lo], 1))).mean()
        gan.zero_grad(); lg.backward(); gan.step()
    if i % 60 == 0 or i == 299: print(i, f"d {ld.item():.3f} l1 {F.l1_loss(sr, hi).item():.3f}")
