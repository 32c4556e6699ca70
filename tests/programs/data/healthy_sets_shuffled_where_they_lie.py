# guards: AD712
"""A basket is a set of goods: it is shuffled where it lies, so that its first ones are a sample of it."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SHOWN = 6


class Baskets(Dataset):
    def __init__(self, count):
        self.draws = np.random.default_rng(3)
        taste = self.draws.normal(size=(count, 1, 3))
        sizes = self.draws.integers(8, 14, size=count)
        self.goods = [
            (taste[each] + self.draws.normal(size=(size, 3))).astype(np.float32) for each, size in enumerate(sizes)
        ]
        self.prices = torch.from_numpy(taste.sum((1, 2))).float()

    def __len__(self):
        return len(self.goods)

    def __getitem__(self, index):
        basket = self.goods[index]
        self.draws.shuffle(basket)
        return torch.from_numpy(basket[:SHOWN].copy()), self.prices[index]


torch.manual_seed(3)
loader = DataLoader(Baskets(48), batch_size=12, shuffle=True)
each, together = nn.Sequential(nn.Linear(3, 16), nn.ReLU()), nn.Linear(16, 1)
optimizer = torch.optim.Adam([*each.parameters(), *together.parameters()], lr=0.01)
for _ in range(6):
    for goods, price in loader:
        loss = nn.functional.mse_loss(together(each(goods).mean(1)).squeeze(1), price)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
