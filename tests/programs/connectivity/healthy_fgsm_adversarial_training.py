# guards: AD220 AD221
"""Adversarial training with PGD: the perturbation is a leaf whose .grad is read, and the clean and adversarial losses are summed."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def pgd(model, x, y, eps=0.3, alpha=0.1, iters=3):
    delta = torch.empty_like(x).uniform_(-eps, eps)
    delta.requires_grad_(True)
    for _ in range(iters):
        loss = F.cross_entropy(model(x + delta), y)
        loss.backward()
        delta.data = (delta + alpha * delta.grad.detach().sign()).clamp(-eps, eps)
        delta.grad.zero_()
    return (x + delta).detach()


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(1, 6, 3, padding=1)
        self.f = nn.Linear(6 * 16, 3)

    def forward(self, x):
        return self.f(F.max_pool2d(F.relu(self.c(x)), 2).flatten(1))


torch.manual_seed(0)
templates = torch.randn(3, 1, 8, 8)
model = SmallCNN()
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(4):
    for _ in range(6):
        y = torch.randint(0, 3, (48,))
        x = templates[y] + 0.7 * torch.randn(48, 1, 8, 8)
        x_adv = pgd(model, x, y)
        loss = 0.5 * (F.cross_entropy(model(x), y) + F.cross_entropy(model(x_adv), y))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
