# guards: AD710
import torch
from torch import nn

def body() -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU())

torch.manual_seed(0)
old, first = body(), nn.Linear(16, 1)
optimizer = torch.optim.SGD([*old.parameters(), *first.parameters()], lr=0.05)
for _ in range(30):
    x = 3 + 2 * torch.randn(16, 8)
    loss = nn.functional.mse_loss(first(old(x)), x.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

new, head = body(), nn.Linear(16, 1)
for mine, theirs in zip(new.parameters(), old.parameters(), strict=True):
    mine.data.copy_(theirs.data)
for kept, moved in zip(new.buffers(), old.buffers(), strict=True):
    kept.copy_(moved)
new.requires_grad_(False).eval()
optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
for _ in range(10):
    x = 3 + 2 * torch.randn(16, 8)
    loss = nn.functional.mse_loss(head(new(x)), x.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
