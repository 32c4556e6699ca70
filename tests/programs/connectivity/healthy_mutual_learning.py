# guards: AD216 AD618
"""Deep mutual learning: two peers, one backward over the sum, each with the other's prediction detached as its target."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
peers = [nn.Sequential(nn.Linear(8, h), nn.ReLU(), nn.Linear(h, 3)) for h in (16, 40)]
opts = [torch.optim.Adam(p.parameters(), lr=1e-2) for p in peers]
W = torch.randn(8, 3)
for step in range(35):
    x = torch.randn(64, 8)
    y = (x @ W + 0.3 * torch.randn(64, 3)).argmax(1)
    logits = [p(x) for p in peers]
    logp = [F.log_softmax(l, 1) for l in logits]
    total = 0.0
    for i in range(2):
        other = logp[1 - i].detach()
        total += F.nll_loss(logp[i], y)
        total += F.kl_div(logp[i], other, reduction="batchmean", log_target=True)
    for o in opts:
        o.zero_grad()
    total.backward()
    for o in opts:
        o.step()
    if step % 7 == 0:
        print(step, total.item())
