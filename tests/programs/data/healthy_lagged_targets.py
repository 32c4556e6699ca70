# guards: AD708
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(120, 8)
y = x.roll(1, 0).sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(12):
    rows = torch.randint(119, (40,))
    loss = nn.functional.mse_loss(model(x[rows]), y[rows + 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
