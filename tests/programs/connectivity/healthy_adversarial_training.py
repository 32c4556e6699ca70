# guards: AD210 AD209
"""Adversarial training: the attack takes gradients in eval mode, and uses them."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def data(n):
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 1, 8, 8) * 0.5
    x[y == 1, :, 2:6, 2:6] += 1.0
    return x, y


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(1, 8, 3, padding=1)
        self.drop = nn.Dropout(0.1)
        self.f = nn.Linear(8, 2)

    def forward(self, x):
        return self.f(self.drop(F.relu(self.c(x)).mean(dim=(2, 3))))


def attack(model, x, y, eps=0.1):
    model.eval()
    x = x.clone().requires_grad_(True)
    (gradient,) = torch.autograd.grad(F.cross_entropy(model(x), y), x)
    model.train()
    return (x + eps * gradient.sign()).detach()


torch.manual_seed(0)
model = Conv()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    model.train()
    for _ in range(7):
        x, y = data(32)
        x = attack(model, x, y)
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
