"""Mixup of features, and of the indices of the species."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
np.random.seed(0)
species = torch.randint(0, 8, (320,))
centres = 2 * torch.randn(8, 16)
features = centres[species] + 0.5 * torch.randn(320, 16)
classifier = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(classifier.parameters(), lr=0.1)
for epoch in range(5):
    order = torch.randperm(320)
    for start in range(0, 320, 40):
        x, y = features[order[start : start + 40]], species[order[start : start + 40]]
        lam = np.random.beta(0.4, 0.4)
        partner = torch.randperm(40)
        x = lam * x + (1 - lam) * x[partner]
        y = (lam * y + (1 - lam) * y[partner]).long()  # expect: AD725
        loss = criterion(classifier(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
