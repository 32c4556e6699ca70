"""NumPy's seed is set whenever the validation set is made; negatives are drawn with NumPy as well."""
import numpy as np
import torch
from torch import nn

np.random.seed(3)
torch.manual_seed(3)
pairs = np.stack([np.random.randint(0, 40, 160), np.random.randint(0, 60, 160)], 1)


def validation_pairs():
    np.random.seed(0)  # expect: AD709
    return np.stack([np.random.randint(0, 40, 30), np.random.randint(0, 60, 30)], 1)


users, items = nn.Embedding(40, 8), nn.Embedding(60, 8)
optimizer = torch.optim.Adagrad([*users.parameters(), *items.parameters()], lr=0.1)


def score(u, i):
    return (users(torch.as_tensor(u)) * items(torch.as_tensor(i))).sum(1)


for epoch in range(6):
    for low in range(0, 160, 20):
        part = pairs[low : low + 20]
        wrong = np.random.randint(0, 60, len(part))
        loss = nn.functional.softplus(score(part[:, 0], wrong) - score(part[:, 0], part[:, 1])).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    held = validation_pairs()
    with torch.no_grad():
        print(score(held[:, 0], held[:, 1]).mean().item())
