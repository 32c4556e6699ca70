# guards: AD706
"""A search: weights learn of some nodes, and the choice between two branches of others, by which it is reported."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
n = 160
x, kind = torch.randn(n, 8), torch.randint(2, (n,))
x[:, 0] += 2 * kind
near = F.one_hot(torch.cdist(x, x).topk(4, largest=False).indices, n).sum(1).float() / 4
order = torch.randperm(n)
for_weights, for_choice = order[:60], order[60:120]


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.own, self.others = nn.Linear(8, 2), nn.Linear(8, 2)
        self.choice = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        share = self.choice.softmax(0)
        return share[0] * self.own(x) + share[1] * self.others(near @ x)


model = Mixed()
weights = torch.optim.Adam([*model.own.parameters(), *model.others.parameters()], lr=0.02)
choice = torch.optim.Adam([model.choice], lr=0.05)
for step in range(14):
    for optimizer, rows in ((weights, for_weights), (choice, for_choice)):
        model.zero_grad()
        F.cross_entropy(model(x)[rows], kind[rows]).backward()
        optimizer.step()
    with torch.no_grad():
        right = model(x).argmax(1) == kind
        print(step, right[for_choice].float().mean().item(), model.choice.softmax(0).tolist())
