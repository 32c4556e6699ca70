# guards: AD634
"""Self-adaptive PINN weights: three weights climb on what is still violated (gradients negated by hand: grad *= -1)."""
import torch, torch.nn as nn
torch.manual_seed(0)
u = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
lam = nn.Parameter(torch.ones(2))
opt = torch.optim.Adam([{"params": u.parameters(), "lr": 3e-3}, {"params": [lam], "lr": 5e-3}])
for it in range(400):
    t = torch.rand(64, 1, requires_grad=True)
    y = u(t)
    dy, = torch.autograd.grad(y.sum(), t, create_graph=True)
    residual = (dy + 2 * y).square().mean()
    initial = (u(torch.zeros(1, 1)) - 1).square().mean()
    loss = lam[0] ** 2 * residual + lam[1] ** 2 * initial
    opt.zero_grad()
    loss.backward()
    lam.grad *= -1
    opt.step()
    if it % 80 == 0 or it == 399:
        tt = torch.linspace(0, 1, 50).unsqueeze(1)
        print(it, f"res {residual.item():.5f} err {(u(tt) - torch.exp(-2 * tt)).abs().max().item():.4f} lam {lam.tolist()}")
