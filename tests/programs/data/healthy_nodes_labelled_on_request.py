# guards: AD706
"""Active learning on a graph: the least certain nodes are labelled, and what is left of the pool is scored each time."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
n = 200
kind = torch.randint(3, (n,))
x = F.one_hot(kind, 3).float() @ torch.randn(3, 10) + torch.randn(n, 10)
near = F.one_hot(torch.cdist(x, x).topk(5, largest=False).indices, n).sum(1).float() / 5
order = torch.randperm(n)
labelled = torch.zeros(n, dtype=torch.bool)
labelled[order[:20]] = True
pool = torch.zeros(n, dtype=torch.bool)
pool[order[:140]] = True
test = ~pool
model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for round in range(4):
    for _ in range(7):
        loss = F.cross_entropy((near @ model(near @ x))[labelled], kind[labelled])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        scores = near @ model(near @ x)
        guess = scores.argmax(1)
        print(round, (guess == kind)[test].float().mean().item(), (guess == kind)[pool].float().mean().item())
        unsure = scores.softmax(1).amax(1).masked_fill(labelled | test, 2.0)
        labelled[unsure.topk(10, largest=False).indices] = True
