# guards: AD114
"""Two learners in a repeated game: one optimizer for both, a backward for each; what they share of the state gets the
gradients of both by intention."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
PAY = torch.tensor([[3.0, 0.0], [4.0, 1.0]])
shared = nn.Embedding(5, 8)
nets = [nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 2)) for _ in range(2)]
params = list(shared.parameters()) + [p for n in nets for p in n.parameters()]
optim = torch.optim.Adam(params, lr=3e-3)
state = torch.full((64,), 4)
for t in range(150):
    with torch.no_grad():
        q = [n(shared(state)) for n in nets]
    acts = [torch.where(torch.rand(64) < 0.2, torch.randint(0, 2, (64,)), v.argmax(1)) for v in q]
    nxt = 2 * acts[0] + acts[1]
    optim.zero_grad()
    for me in (0, 1):
        r = PAY[acts[me], acts[1 - me]]
        with torch.no_grad():
            target = r + 0.9 * nets[me](shared(nxt)).max(1).values
        chosen = nets[me](shared(state)).gather(1, acts[me][:, None]).squeeze(1)
        td = F.smooth_l1_loss(chosen, target)
        td.backward()
    optim.step()
    state = nxt
    if t % 50 == 49:
        print(t, td.item())
