"""Letters go to one expert of four; the weight of the chosen one is made to add up to 1 over those that were chosen."""

import torch
import torch.nn.functional as F
from torch import nn


class Experts(nn.Module):
    def __init__(self, width=12, experts=4, chosen=1):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))
        self.chosen = chosen

    def forward(self, x):
        shares = self.gate(x).softmax(-1)
        weight, which = shares.topk(self.chosen, dim=-1)
        weight = weight / weight.sum(-1, keepdim=True)  # expect: AD613
        every = torch.stack([expert(x) for expert in self.experts], 1)
        picked = every.gather(1, which.unsqueeze(-1).expand(-1, -1, x.shape[1]))
        return (weight.unsqueeze(-1) * picked).sum(1), shares.mean(0).square().sum()


torch.manual_seed(0)
experts, head = Experts(), nn.Linear(12, 3)
optimizer = torch.optim.Adam([*experts.parameters(), *head.parameters()], lr=0.01)
for _ in range(30):
    letter = torch.randint(0, 3, (24,))
    strokes = torch.randn(24, 12) + 2 * F.one_hot(letter, 12)
    mixed, uneven = experts(strokes)
    loss = F.cross_entropy(head(F.relu(mixed)), letter) + 0.01 * uneven
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
