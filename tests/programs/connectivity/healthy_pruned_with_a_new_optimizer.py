# guards: AD206
"""Leaks in pipes: what is cut off stays cut off, since a new optimizer knows nothing of the dense weights, and its decay
leaves zeros at zero."""
import torch
from torch import nn

torch.manual_seed(14)
net = nn.Sequential(nn.Conv1d(1, 8, 5), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 28, 2))


def train(optimizer, steps, masks=()):
    for _ in range(steps):
        leak = torch.randint(0, 2, (48,))
        sound = torch.randn(48, 1, 32) + leak[:, None, None] * torch.sin(torch.arange(32.0))
        loss = nn.functional.cross_entropy(net(sound), leak)
        optimizer.zero_grad()
        loss.backward()
        for weight, mask in masks:
            weight.grad = torch.where(mask, weight.grad, 0.0)
        optimizer.step()


train(torch.optim.Adam(net.parameters(), lr=2e-3), 6)
masks = [(p, p.detach().abs() > p.detach().abs().median()) for p in net.parameters() if p.dim() > 1]
with torch.no_grad():
    for weight, mask in masks:
        weight.mul_(mask)
train(torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=0.1), 30, masks)
