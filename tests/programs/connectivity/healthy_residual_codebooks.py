# guards: AD226
"""SoundStream-like residual VQ with EMA codebooks on toy waveforms."""
import math, torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)

class EMAQuantizer(nn.Module):
    def __init__(self, k, d, decay=0.95):
        super().__init__()
        e = torch.randn(k, d) * 0.3
        self.register_buffer("embed", e)
        self.register_buffer("sums", e.clone())
        self.register_buffer("counts", torch.ones(k))
        self.decay = decay
    def forward(self, x):                         # x: N,d
        flat = x.detach()
        idx = (flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.embed.t() + self.embed.pow(2).sum(1)).argmin(1)
        q = F.embedding(idx, self.embed)
        if self.training:
            with torch.no_grad():
                hot = F.one_hot(idx, len(self.embed)).float()
                self.counts.mul_(self.decay).add_(hot.sum(0), alpha=1 - self.decay)
                self.sums.mul_(self.decay).add_(hot.t() @ flat, alpha=1 - self.decay)
                self.embed.copy_(self.sums / self.counts.clamp_min(1e-3).unsqueeze(1))
        return q, idx

class RVQ(nn.Module):
    def __init__(self, n, k, d):
        super().__init__()
        self.levels = nn.ModuleList(EMAQuantizer(k, d) for _ in range(n))
    def forward(self, z):
        residual, total, commit = z, torch.zeros_like(z), 0.0
        for level in self.levels:
            q, _ = level(residual)
            commit = commit + F.mse_loss(residual, q)
            residual = residual - q
            total = total + q
        return z + (total - z).detach(), commit / len(self.levels)

class Codec(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv1d(1, 16, 4, 2, 1), nn.ELU(), nn.Conv1d(16, d, 4, 2, 1))
        self.rvq = RVQ(3, 32, d)
        self.dec = nn.Sequential(nn.ConvTranspose1d(d, 16, 4, 2, 1), nn.ELU(), nn.ConvTranspose1d(16, 1, 4, 2, 1))
    def forward(self, x):
        z = self.enc(x)
        b, d, t = z.shape
        q, c = self.rvq(z.transpose(1, 2).reshape(-1, d))
        return self.dec(q.view(b, t, d).transpose(1, 2)), c

def waves(n):
    t = torch.linspace(0, 1, 64)
    f, p = torch.rand(n, 1) * 4 + 1, torch.rand(n, 1) * 2 * math.pi
    return torch.sin(2 * math.pi * f * t + p).unsqueeze(1)

model = Codec()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(80):
    x = waves(32)
    y, commit = model(x)
    rec = F.l1_loss(y, x)
    opt.zero_grad()
    (rec + 0.25 * commit).backward()
    opt.step()
    if step % 20 == 0 or step == 79:
        print(step, f"rec {rec.item():.3f} commit {commit.item():.3f}")
