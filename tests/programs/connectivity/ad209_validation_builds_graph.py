"""Validation switches to eval mode and forgets that gradients are another switch."""
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


def validate(model, batches):
    model.eval()
    correct = 0
    for x, y in batches:
        out = model(x)  # expect: AD209
        correct += (out.argmax(1) == y).sum().item()
    model.train()
    return correct


torch.manual_seed(0)
model = Conv()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
val = [data(64) for _ in range(6)]
for epoch in range(4):
    model.train()
    for _ in range(7):
        x, y = data(32)
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
    print(epoch, loss.item(), validate(model, val))
