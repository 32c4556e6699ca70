import numpy as np
import torch
from torch import nn


def cross_entropy(scores, labels):
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    chosen = shifted[np.arange(len(labels)), labels] / shifted.sum(axis=1)
    return torch.tensor(-np.log(chosen).mean(), requires_grad=True)  # expect: AD116


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(8):
    inputs = torch.randn(32, 6)
    labels = inputs[:, :3].argmax(dim=1)
    loss = cross_entropy(model(inputs).detach().numpy(), labels.numpy())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
