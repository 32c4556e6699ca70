# guards: AD633
"""Hamiltonian network for systems of particles; each particle's speed dH/dp may not exceed the speed of light (c = 1)."""
import torch
from torch import nn
torch.manual_seed(0)
B, N = 32, 5

class H(nn.Module):
    """One energy for each system: kinetic by particle plus pair potential."""
    def __init__(self):
        super().__init__()
        self.kin = nn.Sequential(nn.Linear(1, 32), nn.Softplus(), nn.Linear(32, 1))
        self.pair = nn.Sequential(nn.Linear(1, 32), nn.Softplus(), nn.Linear(32, 1))
    def forward(self, q, p):
        k = self.kin(p.square().sum(-1, keepdim=True)).sum((1, 2))
        i, j = torch.triu_indices(N, N, 1)
        r2 = (q[:, i] - q[:, j]).square().sum(-1, keepdim=True)
        return k + self.pair(r2).sum((1, 2))

def truth(q, p):
    v = p / (1 + p.square().sum(-1, keepdim=True)).sqrt()       # relativistic, m = c = 1
    f = -(q[:, :, None] - q[:, None]).mul(0.1).sum(2)
    return v, f

ham = H()
opt = torch.optim.Adam(ham.parameters(), lr=5e-3)
for step in range(300):
    q = torch.randn(B, N, 3)
    p = torch.randn(B, N, 3)
    v, f = truth(q, p)
    p_far = 4 * torch.randn(B, N, 3)                      # momenta that the data does not cover
    q.requires_grad_(); p.requires_grad_(); p_far.requires_grad_()
    energy = ham(q, p)
    dq, dp = torch.autograd.grad(energy.sum(), (q, p), create_graph=True)
    data_loss = (dp - v).square().mean() + (-dq - f).square().mean()
    far, = torch.autograd.grad(ham(q.detach(), p_far).sum(), p_far, create_graph=True)
    too_fast = torch.relu(far.norm(dim=-1) - 1.0).square().mean()
    loss = data_loss + too_fast
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0 or step == 299:
        print(step, f"data {data_loss.item():.4f} speed {too_fast.item():.5f}")
