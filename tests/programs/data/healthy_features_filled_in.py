# guards: AD706
"""An encoder fills in features of nodes that it was not shown; a probe learns labels of what it says of some nodes."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
n = 160
kind = torch.randint(3, (n,))
x = F.one_hot(kind, 3).float() @ torch.randn(3, 12) + torch.randn(n, 12)
near = F.one_hot(torch.cdist(x, x).topk(6, largest=False).indices, n).sum(1).float() / 6
encoder, decoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 16)), nn.Linear(16, 12)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
hidden, shown = torch.randperm(n)[:80], torch.randperm(n)[:60]
for step in range(14):
    filled = decoder(encoder(near @ x))
    loss = F.mse_loss(filled[hidden], x[hidden])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        print(step, F.mse_loss(decoder(encoder(near @ x))[shown], x[shown]).item())

probe = nn.Linear(16, 3)
optimizer = torch.optim.Adam(probe.parameters(), lr=0.05)
order = torch.randperm(n)
train, test = order[:80], order[80:]
with torch.no_grad():
    codes = encoder(near @ x)
for step in range(14):
    loss = F.cross_entropy(probe(codes)[train], kind[train])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        print(step, (probe(codes).argmax(1) == kind)[test].float().mean().item())
