# guards: AD728
"""A memory keeps samples and what the model said of them, and is drawn from beside the batches of a loader."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(160, 10)
loader = DataLoader(TensorDataset(x, x[:, :3].argmax(1)), batch_size=20, shuffle=True)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
samples, said = torch.zeros(0, 10), torch.zeros(0, 3)
for _ in range(5):
    for given, kind in loader:
        scores = model(given)
        loss = nn.functional.cross_entropy(scores, kind)
        if len(samples) >= 20:
            rows = torch.randperm(len(samples))[:20]
            loss = loss + 0.5 * nn.functional.mse_loss(model(samples[rows]), said[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        samples, said = torch.cat([samples, given])[-60:], torch.cat([said, scores.detach()])[-60:]
