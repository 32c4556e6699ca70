from collections import Counter

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
N = 3000
x = torch.randn(N, 10)
s = x[:, 0] + 0.3 * x[:, 1]
y = torch.full((N,), 1)
y[s > 0.6], y[s > 1.1], y[s < -1.2] = 3, 0, 2
train_loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)

freq = Counter(y.tolist())
weights = torch.tensor([N / (len(freq) * n) for n in freq.values()])

net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
criterion = nn.CrossEntropyLoss(weight=weights)  # <- AD626
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(3):
    running = 0.0
    for xb, yb in train_loader:
        opt.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        opt.step()
        running += loss.item()
    print(epoch, running / len(train_loader))
