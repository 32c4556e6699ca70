"""A small forest of leaves is taught by what a large network has said of each, once."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
centres = torch.randn(5, 12) * 2
species = torch.randint(5, (600,))
leaves = centres[species] + torch.randn(600, 12)
data = TensorDataset(leaves, species)

teacher = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.Adam(teacher.parameters(), lr=0.01)
for epoch in range(2):
    for leaf, name in DataLoader(data, batch_size=60, shuffle=True):
        optimizer.zero_grad()
        F.cross_entropy(teacher(leaf), name).backward()
        optimizer.step()

teacher.eval()
with torch.no_grad():
    said = torch.cat([teacher(leaf) for leaf, _ in DataLoader(data, batch_size=100)])

student = nn.Linear(12, 5)
optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
for epoch in range(3):
    for number, (leaf, _) in enumerate(DataLoader(data, batch_size=40, shuffle=True)):
        wanted = said[40 * number : 40 * number + 40].div(2).softmax(1)  # <- AD708
        loss = F.kl_div(student(leaf).div(2).log_softmax(1), wanted, reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
