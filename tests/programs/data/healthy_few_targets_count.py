# guards: AD707
"""Masked language modelling in which most targets, and now and then all of them, are ignored; and masks of padding."""

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Embedding(30, 16), nn.Linear(16, 16), nn.GELU())
head, span = nn.Linear(16, 30), nn.Linear(16, 1)
opt = torch.optim.AdamW([*body.parameters(), *head.parameters(), *span.parameters()], lr=1e-3)
for step in range(16):
    tokens = torch.randint(2, 30, (4, 8))
    hidden_ones = torch.rand(4, 8) < (0.15 if step % 5 else 0.0)
    if step % 5:
        hidden_ones[0, 0] = True
    labels = torch.where(hidden_ones, tokens, torch.tensor(-100))
    features = body(torch.where(hidden_ones, torch.tensor(1), tokens))
    count = hidden_ones.sum().clamp(min=1)
    loss = nn.functional.cross_entropy(head(features).flatten(0, 1), labels.flatten(), reduction="sum") / count
    real = torch.arange(8) < torch.randint(3, 9, (4, 1))
    loss = loss + span(features).squeeze(-1)[real].square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
