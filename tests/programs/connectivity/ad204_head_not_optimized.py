"""A backbone and a head; the optimizer was given the backbone only."""
import torch
import torch.nn as nn

torch.manual_seed(0)

backbone = nn.Sequential(nn.Conv1d(1, 8, 5, padding=2), nn.ReLU(), nn.AdaptiveMaxPool1d(8), nn.Flatten())
head = nn.Linear(64, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(backbone.parameters(), lr=5e-3)  # expect: AD204


def batch(n=48):
    y = torch.randint(0, 2, (n,))
    t = torch.linspace(0, 1, 40)
    freq = 3.0 + 4.0 * y.unsqueeze(1)
    x = torch.sin(6.28 * (freq * t + torch.rand(n, 1))) + 0.3 * torch.randn(n, 40)
    return x.unsqueeze(1), y


for step in range(20):
    x, y = batch()
    optimizer.zero_grad()
    loss = criterion(head(backbone(x)), y)
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(f"step {step} loss {loss.item():.4f}")
