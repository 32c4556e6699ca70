"""Embeddings of users by a small tower; the number of users is whatever the table holds."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Users(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(5)
        self.profiles = torch.randn(count, 7, generator=generator)
        self.spent = self.profiles[:, :2].sum(1).exp()

    def __len__(self):
        return len(self.profiles)

    def __getitem__(self, index):
        return {"profile": self.profiles[index], "spent": self.spent[index]}


class Tower(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.enter = nn.Linear(7, width)
        self.norm = nn.BatchNorm1d(width)
        self.leave = nn.Linear(width, 1)

    def forward(self, profile):
        hidden = torch.relu(self.norm(self.enter(profile)))  # expect: AD607
        return self.leave(hidden).squeeze(1)


def fit(tower, users, epochs=4):
    optimizer = torch.optim.Adam(tower.parameters(), lr=1e-2)
    for epoch in range(epochs):
        tower.train()
        for batch in DataLoader(users, batch_size=10, shuffle=True):
            optimizer.zero_grad()
            loss = nn.functional.huber_loss(tower(batch["profile"]), batch["spent"].log1p())
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


torch.manual_seed(0)
fit(Tower(), Users(121))
