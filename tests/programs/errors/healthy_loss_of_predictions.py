# guards: AD506
"""A mix-up loop."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def mixup(x, y, alpha=0.4):
    lam = torch.distributions.Beta(alpha, alpha).sample()
    index = torch.randperm(x.size(0))
    return lam * x + (1 - lam) * x[index], lam * y + (1 - lam) * y[index]


def soft_cross_entropy(logits, targets):
    return -(targets * F.log_softmax(logits, dim=1)).sum(1).mean()


def train(model, optimizer, centers, steps):
    for step in range(steps):
        y = torch.randint(0, 4, (40,))
        x = centers[y] + torch.randn(40, centers.size(1))
        onehot = F.one_hot(y, 4).float()
        x, mixed = mixup(x, onehot)
        logits = model(x)
        loss = soft_cross_entropy(logits, mixed)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, loss.item())


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 4))
train(model, torch.optim.Adam(model.parameters(), lr=5e-3), torch.randn(4, 9), 30)
