# guards: AD616 AD604
"""Supervised contrastive learning with a memory of as many labels as the batch has."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
BATCH = 32
encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
memory, memory_labels = F.normalize(torch.randn(BATCH, 8), dim=1), torch.randint(4, (BATCH,))
for step in range(15):
    x = torch.randn(BATCH, 10)
    labels = x[:, :4].argmax(1)
    z = F.normalize(encoder(x), dim=1)
    column = labels.contiguous().view(-1, 1)
    own = torch.eq(column, column.T).float()
    own.fill_diagonal_(0)
    logits = z @ z.T / 0.2 - 1e9 * torch.eye(BATCH)
    within = -(own * F.log_softmax(logits, dim=1)).sum(1) / own.sum(1).clamp(min=1)
    stored = (labels[:, None] == memory_labels).float()
    across = -(stored * F.log_softmax(z @ memory.T / 0.2, dim=1)).sum() / stored.sum().clamp(min=1)
    both = F.cross_entropy(z @ z.detach().T / 0.1, torch.arange(BATCH))
    loss = within.mean() + 0.5 * across + 0.1 * both
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    memory, memory_labels = z.detach(), labels
    if step % 5 == 0:
        print(own.mean().item(), stored.sum().item())
