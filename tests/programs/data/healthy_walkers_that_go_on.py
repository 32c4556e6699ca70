# guards: AD712
# hinted: AD712
"""Walkers on a plane that the wind turns: who reads one lets it go on, and gets the way that it went."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

TURN = torch.tensor([[0.9, -0.4], [0.4, 0.9]])


class Walkers(Dataset):
    def __init__(self, count):
        self.at = torch.randn(count, 2)

    def __len__(self):
        return len(self.at)

    def __getitem__(self, index):
        walker, way = self.at[index], torch.empty(7, 2)
        for moment in way:
            walker.copy_(TURN @ walker + 0.05 * torch.randn(2))
            moment.copy_(walker)
        return way


torch.manual_seed(4)
loader = DataLoader(Walkers(36), batch_size=12, shuffle=True)
model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(8):
    for way in loader:
        loss = nn.functional.mse_loss(way[:, :-1] + model(way[:, :-1]), way[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
