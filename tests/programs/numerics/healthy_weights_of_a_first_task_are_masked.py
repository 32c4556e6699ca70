# guards: AD414 AD102
"""Two tasks one after the other: most weights of the features are kept for the first, by zeros in their gradients."""

import torch
from torch import nn

torch.manual_seed(2)
features = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
heads = nn.ModuleList(nn.Linear(16, 3) for _ in range(2))
steps = torch.optim.SGD(features.parameters(), lr=0.05)
kept = {}
for task, head in enumerate(heads):
    of_head = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(25):
        x = torch.randn(48, 10)
        loss = nn.functional.cross_entropy(head(features(x)), x[:, 3 * task : 3 * task + 3].argmax(1))
        steps.zero_grad()
        of_head.zero_grad()
        loss.backward()
        for name, weight in features.named_parameters():
            if name in kept:
                weight.grad.data.mul_(~kept[name])
        steps.step()
        of_head.step()
    kept = {name: torch.ones_like(weight, dtype=torch.bool) for name, weight in features.named_parameters()}
