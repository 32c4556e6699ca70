# guards: AD216 AD223
"""GradNorm: task weights learn from the gradient norms, and the weighted loss sees them detached."""
import torch
from torch import nn
from torch.autograd import grad

torch.manual_seed(0)
shared = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
heads = nn.ModuleList([nn.Linear(16, 1), nn.Linear(16, 1)])
weights = torch.ones(2, requires_grad=True)
opt = torch.optim.Adam([*shared.parameters(), *heads.parameters()], lr=5e-3)
opt_w = torch.optim.Adam([weights], lr=2e-2)
targets = [torch.randn(6), 5 * torch.randn(6)]
alpha, first = 1.0, None

for step in range(30):
    x = torch.randn(64, 6)
    z = shared(x)
    losses = torch.stack([((h(z).squeeze(1) - (x @ t).tanh() * t.norm()) ** 2).mean() for h, t in zip(heads, targets)])
    if first is None:
        first = losses.detach()

    last = shared[2].weight
    norms = torch.stack([grad(l, last, retain_graph=True)[0].norm() for l in losses])
    weighted_norms = weights * norms
    ratio = losses.detach() / first
    goal = (weighted_norms.mean() * (ratio / ratio.mean()) ** alpha).detach()
    gradnorm_loss = (weighted_norms - goal).abs().sum()

    opt.zero_grad()
    (weights.detach() * losses).sum().backward()
    opt.step()

    opt_w.zero_grad()
    gradnorm_loss.backward()
    opt_w.step()
    with torch.no_grad():
        weights.mul_(2 / weights.sum())
    if step % 10 == 0:
        print(step, losses.tolist(), weights.tolist())
