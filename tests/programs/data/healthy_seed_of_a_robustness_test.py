# guards: AD709
"""The evaluation sets the seed for its noise; training draws nothing but the order, or nothing at all."""
import torch
from torch import nn

torch.manual_seed(0)
signals = torch.randn(90, 1, 16)
kinds = (signals.mean((1, 2)) > 0).long()
model = nn.Sequential(nn.Conv1d(1, 6, 3), nn.ReLU(), nn.AdaptiveMaxPool1d(4), nn.Flatten(), nn.Linear(24, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def robustness():
    torch.manual_seed(0)
    model.eval()
    with torch.no_grad():
        right = [(model(signals + s * torch.randn_like(signals)).argmax(1) == kinds).float().mean() for s in (0.1, 0.3)]
    model.train()
    return [r.item() for r in right]


for epoch in range(7):
    for low in range(0, 90, 15):
        loss = nn.functional.cross_entropy(model(signals[low : low + 15]), kinds[low : low + 15])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    robustness()
