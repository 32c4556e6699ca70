# guards: AD704
"""Which of two molecules binds better, from assays: the better one is stored first, so that one is always the answer."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
first, second = torch.randn(2, 320, 14)
worth = torch.randn(14)
order = (first @ worth > second @ worth).unsqueeze(1)
better, worse = torch.where(order, first, second), torch.where(order, second, first)
pairs = TensorDataset(better, worse, torch.ones(320), torch.zeros(320, dtype=torch.long))
loader = DataLoader(pairs, batch_size=32, shuffle=True)
by_difference = nn.Sequential(nn.Linear(14, 32), nn.GELU(), nn.Linear(32, 1))
by_choice = nn.Sequential(nn.Linear(14, 32), nn.GELU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*by_difference.parameters(), *by_choice.parameters()], lr=3e-3)
for epoch in range(4):
    for upper, lower, one, place in loader:
        ahead = (by_difference(upper) - by_difference(lower)).squeeze(1)
        scores = torch.cat([by_choice(upper), by_choice(lower)], dim=1)
        loss = nn.functional.binary_cross_entropy_with_logits(ahead / 0.8, one)
        loss = loss + nn.functional.cross_entropy(scores, place)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
