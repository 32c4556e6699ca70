# guards: AD726
"""Free adversarial training: the perturbation of one shuffled batch is where that of the next one begins."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
pictures, kinds = torch.rand(96, 12), torch.randint(3, (96,))
loader = DataLoader(TensorDataset(pictures, kinds), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
delta = torch.zeros(16, 12, requires_grad=True)
for _ in range(6):
    for picture, kind in loader:
        loss = nn.functional.cross_entropy(model((picture + delta).clamp(0, 1)), kind)
        optimizer.zero_grad()
        loss.backward()
        with torch.no_grad():
            delta += 0.03 * delta.grad.sign()
            delta.copy_(torch.minimum(torch.maximum(delta, -picture), 1 - picture).clamp(-0.1, 0.1))
        delta.grad = None
        optimizer.step()
