"""A small language model learns from the distribution over words of a table of counts."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
V = 14
counts = torch.rand(V, V).pow(3) + 0.01
table = counts / counts.sum(1, keepdim=True)
model = nn.Sequential(nn.Embedding(V, 10), nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, V))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(30):
    words = torch.randint(V, (48,))
    log_probs = F.log_softmax(model(words), dim=-1)
    loss = F.kl_div(table[words], log_probs, reduction="batchmean")  # expect: AD612
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
