# guards: AD224
"""Fine-tuning that keeps weights near where they began, those of the lower layer among them, which are still frozen."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
lower, upper, head = nn.Linear(10, 16), nn.Linear(16, 16), nn.Linear(16, 3)
lower.requires_grad_(False)
begun = [weight.detach().clone() for weight in (*lower.parameters(), *upper.parameters())]
optimizer = torch.optim.AdamW([*upper.parameters(), *head.parameters()], lr=3e-3)
below, whole = nn.utils.parameters_to_vector(lower.parameters()), sum(map(torch.numel, lower.parameters()))
for _ in range(30):
    x = torch.randn(32, 10)
    scores = head(torch.relu(upper(torch.relu(lower(x)))))
    now = [*lower.parameters(), *upper.parameters()]
    drift = sum((weight - before).square().sum() for weight, before in zip(now, begun, strict=True))
    frozen = (nn.utils.parameters_to_vector(lower.parameters()) - below).square().sum() / whole
    only_lower = sum(F.mse_loss(weight, before) for weight, before in zip(lower.parameters(), begun[:2], strict=True))
    loss = F.cross_entropy(scores, x[:, :3].argmax(1)) + 0.1 * (drift + frozen + only_lower)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
