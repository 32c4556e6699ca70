# guards: AD701 AD714
"""Few labelled recordings beside many others: when they have ended, the others go on by themselves."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
sounds = torch.randn(1200, 16)
words = (sounds[:240, :4].sum(1) > 0).long()
labelled = iter(DataLoader(TensorDataset(sounds[:240], words), batch_size=12, shuffle=True))
others = DataLoader(TensorDataset(sounds[240:]), batch_size=12, shuffle=True)
body = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.1))
head, back = nn.Linear(32, 2), nn.Linear(32, 16)
optimizer = torch.optim.Adam([*body.parameters(), *head.parameters(), *back.parameters()], lr=1e-3)
for (unlabelled,) in others:
    loss = F.mse_loss(back(body(unlabelled)), unlabelled)
    batch = next(labelled, None)
    if batch is not None:
        loss = loss + F.cross_entropy(head(body(batch[0])), batch[1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
