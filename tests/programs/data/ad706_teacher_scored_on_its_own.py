"""The teacher is scored on images that it has learned from, and then teaches a student."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(3)
centres = torch.randn(5, 16)
labels = torch.randint(0, 5, (400,))
data = TensorDataset(centres[labels] + 0.8 * torch.randn(400, 16), labels)
train = DataLoader(Subset(data, range(320)), batch_size=40, shuffle=True)
test = DataLoader(Subset(data, range(280, 400)), batch_size=40)  # expect: AD706


def accuracy(model, loader):
    model.eval()
    hits = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x).argmax(1) == y).sum().item()
    return hits / len(loader.dataset)


teacher = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.Adam(teacher.parameters(), lr=2e-3)
for epoch in range(2):
    teacher.train()
    for x, y in train:
        optimizer.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        optimizer.step()
    print("teacher", accuracy(teacher, test))

student = nn.Linear(16, 5)
optimizer = torch.optim.Adam(student.parameters(), lr=2e-3)
for epoch in range(2):
    for x, y in train:
        with torch.no_grad():
            soft = teacher(x)
        loss = F.kl_div(F.log_softmax(student(x), 1), F.softmax(soft, 1), reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("teacher once more", accuracy(teacher, test))
