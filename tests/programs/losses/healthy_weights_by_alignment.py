# guards: AD634
"""Auxiliary-task weights learned by the alignment of gradients with the main task (OL-AUX / Du et al.): w.grad is written by hand."""
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(10, 48), nn.Tanh())
main, helpful, harmful = nn.Linear(48, 1), nn.Linear(48, 1), nn.Linear(48, 4)
w = nn.Parameter(torch.zeros(2))
opt = torch.optim.Adam([p for m in (trunk, main, helpful, harmful) for p in m.parameters()], lr=8e-3)
wopt = torch.optim.SGD([w], lr=0.05)
shared = list(trunk.parameters())
flat = lambda gs: torch.cat([g.reshape(-1) for g in gs])
for step in range(70):
    x = torch.randn(96, 10)
    y = torch.tanh(x[:, :1] + x[:, 1:2])
    h = trunk(x)
    l_main = F.mse_loss(main(h), y)
    l_aux = torch.stack([F.mse_loss(helpful(h), y + 0.1 * torch.randn_like(y)), F.cross_entropy(harmful(h), torch.randint(0, 4, (96,)))])
    g_main = flat(torch.autograd.grad(l_main, shared, retain_graph=True))
    align = torch.stack([F.cosine_similarity(g_main, flat(torch.autograd.grad(l, shared, retain_graph=True)), dim=0) for l in l_aux])
    loss = l_main + (torch.sigmoid(w) * l_aux).sum()
    opt.zero_grad()
    loss.backward()
    w.grad = -align + 0.1                           # up where it helps, down where it does not
    opt.step(); wopt.step()
    if step % 20 == 0 or step == 69: print(step, f"main {l_main.item():.4f}", torch.sigmoid(w).tolist())
