# guards: AD633
"""Implicit geometric regularisation with latent codes: eikonal term on points of shape [B, N, 3]."""
import torch, torch.nn as nn
torch.manual_seed(0)
B, N = 4, 48
radii = torch.tensor([0.4, 0.6, 0.8, 1.0])

class DeepSDF(nn.Module):
    def __init__(self, latents=4, width=64):
        super().__init__()
        self.codes = nn.Embedding(latents, 8)
        self.net = nn.Sequential(nn.Linear(11, width), nn.Softplus(100), nn.Linear(width, width), nn.Softplus(100), nn.Linear(width, 1))
    def forward(self, idx, pts):
        z = self.codes(idx)[:, None].expand(-1, pts.shape[1], -1)
        return self.net(torch.cat([pts, z], -1)).squeeze(-1)

def gradient(y, x):
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]

sdf = DeepSDF()
opt = torch.optim.Adam(sdf.parameters(), lr=5e-3)
idx = torch.arange(B)
for step in range(80):
    d = nn.functional.normalize(torch.randn(B, N, 3), dim=-1)
    surface = (d * radii[:, None, None]).requires_grad_()
    space = (torch.rand(B, N, 3) * 3 - 1.5).requires_grad_()
    on, off = sdf(idx, surface), sdf(idx, space)
    g_on, g_off = gradient(on, surface), gradient(off, space)
    eik = ((g_off.norm(dim=-1) - 1) ** 2).mean()
    normal = (g_on - d).norm(2, dim=-1).mean()
    loss = on.abs().mean() + 0.1 * eik + 0.3 * normal + 1e-4 * sdf.codes.weight.square().sum()
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 20 == 0 or step == 79:
        print(f"{step:3d} surf {on.abs().mean().item():.4f} eik {eik.item():.4f} normal {normal.item():.4f}")
