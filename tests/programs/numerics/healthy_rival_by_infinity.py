# guards: AD417
"""A multi-class hinge whose rivals are the best other class, on data so easy that it is soon zero throughout."""

import torch
from torch import nn

torch.manual_seed(0)
scorer = nn.Linear(5, 5)
with torch.no_grad():
    scorer.weight.copy_(4 * torch.eye(5))
optimizer = torch.optim.SGD(scorer.parameters(), lr=0.05)
rows = torch.arange(30)
for _ in range(30):
    kinds = torch.randint(0, 5, (30,))
    signs = 3 * nn.functional.one_hot(kinds, 5).float() + 0.01 * torch.randn(30, 5)
    scores = scorer(signs)
    rivals = scores.clone()
    rivals[rows, kinds] = -torch.inf
    margin = torch.relu(1 + rivals.max(1).values - scores[rows, kinds]).mean()
    loss = margin + 0.1 * (scores - 8 * signs).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
