import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(32, 4)
labels = x[:, :3].argmax(1)
for _ in range(8):
    predicted = model(x).argmax(1)  # expect: AD202
    loss = (predicted != labels).float().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
