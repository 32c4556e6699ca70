# guards: AD211 AD209
"""After each step the same batch is scored again, to watch how far one step goes: part of the loop, and no evaluation."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
gains = []
for _ in range(40):
    x = torch.randn(64, 8)
    y = x[:, :4].argmax(1)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    again = nn.functional.cross_entropy(model(x), y)
    gains.append(loss.item() - again.item())
print(sum(gains) / len(gains))
