# guards: AD712
"""Temporal ensembling: each reading mixes the model's present answer into the soft label that it hands out."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(1)


class Unlabelled(Dataset):
    def __init__(self, model, rows):
        self.model = model
        self.rows = rows
        self.soft = torch.full((len(rows), 3), 1 / 3)

    def __len__(self):
        return len(self.rows)

    @torch.no_grad()
    def __getitem__(self, index):
        answer = self.model(self.rows[index]).softmax(0)
        self.soft[index].copy_(0.8 * self.soft[index] + 0.2 * answer)
        return self.rows[index], self.soft[index].clone()


labelled = torch.randn(60, 5)
labels = labelled[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Linear(20, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
unlabelled = DataLoader(Unlabelled(model, torch.randn(48, 5)), batch_size=8, shuffle=True)
for _ in range(4):
    for rows, soft in unlabelled:
        few = torch.randint(0, 60, (8,))
        told = nn.functional.cross_entropy(model(labelled[few]), labels[few])
        loss = told + 0.3 * nn.functional.cross_entropy(model(rows), soft)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
