"""A data set of NumPy arrays hands its labels over as floats; the loss wants whole numbers."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Blobs(Dataset):
    def __init__(self, n):
        generator = np.random.default_rng(5)
        self.labels = generator.integers(0, 3, n)
        self.points = generator.normal(size=(n, 2)) + 3 * self.labels[:, None]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        point = torch.from_numpy(self.points[index]).float()
        return point, float(self.labels[index])


torch.manual_seed(0)
train, held_out = random_split(Blobs(400), [320, 80])
model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    for points, labels in DataLoader(train, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(model(points), labels)  # expect: AD511
        loss.backward()
        optimizer.step()
