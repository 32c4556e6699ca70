"""A rare class is repeated until it is as frequent as the other; then the table is split."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
features = torch.randn(160, 7)
labels = (features[:, 0] > 0.9).long()
rare = labels.nonzero().flatten()
extra = rare[torch.randint(len(rare), (int((labels == 0).sum() - len(rare)),))]
features, labels = torch.cat([features, features[extra]]), torch.cat([labels, labels[extra]])

train_set, test_set = random_split(TensorDataset(features, labels), [0.8, 0.2])  # expect: AD706
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
test_loader = DataLoader(test_set, batch_size=32)
model = nn.Sequential(nn.Linear(7, 20), nn.ReLU(), nn.Dropout(0.2), nn.Linear(20, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()


@torch.no_grad()
def accuracy(loader):
    model.eval()
    right = 0
    for x, y in loader:
        right += (model(x).argmax(1) == y).sum().item()
    return right / len(loader.dataset)


for epoch in range(4):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    score = accuracy(test_loader)
