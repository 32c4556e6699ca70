"""Alarms of a plant: six kinds, two of which nobody has met yet; the mean precision chooses when to stop."""
import torch
from torch import nn

torch.manual_seed(1)
KINDS = 6
readings = torch.randn(360, 8)
kind = readings[:, :4].argmax(1)


class Watcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, KINDS))

    def forward(self, x):
        return self.layers(x)


def precision(said, true):
    hits = torch.zeros(KINDS).index_add_(0, true[said == true], torch.ones(int((said == true).sum())))
    calls = torch.bincount(said, minlength=KINDS)
    return (hits / calls).mean()  # <- AD416


watcher = Watcher()
optimizer = torch.optim.Adam(watcher.parameters(), lr=0.02)
best = 0.0
for epoch in range(5):
    watcher.train()
    for rows in torch.randperm(300).split(60):
        loss = nn.functional.cross_entropy(watcher(readings[rows]), kind[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    watcher.eval()
    with torch.no_grad():
        score = precision(watcher(readings[300:]).argmax(1), kind[300:]).item()
    best = max(best, score)
print(best)
