# guards: AD115
"""A retrieval model of as many epochs as each has batches; its cosine is as long as the run has epochs."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 32
torch.manual_seed(0)
queries = torch.randn(64, 6)
passages = queries @ torch.linalg.qr(torch.randn(6, 6))[0] + 0.1 * torch.randn(64, 6)
loader = DataLoader(TensorDataset(queries, passages), batch_size=2, shuffle=True)
towers = nn.ModuleList([nn.Linear(6, 8), nn.Linear(6, 8)])
optimizer = torch.optim.Adam(towers.parameters(), lr=3e-3)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)
for _ in range(EPOCHS):
    for query, passage in loader:
        optimizer.zero_grad()
        scores = towers[0](query) @ towers[1](passage).t()
        nn.functional.cross_entropy(scores, torch.arange(len(query))).backward()
        optimizer.step()
    cosine.step()
